// How far off steps may be: families weighted by hand, the table that ships, and the way through
// report.json.

#include "sim/report/step_error.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <numbers>

#include "sim/base/error.hpp"
#include "sim/report/report.hpp"

namespace foretoken {
namespace {

const PricedBy synperf = {"synperf", "h100-sxm", "bf16", ""};

/// Three quarters products, one quarter of host time.
PricedTime three_to_one(const PricedBy& by) { return {by, {{"gemm", 3.0}, {"host", 1.0}}}; }

PricedBy on(const char* gpu) { return {"synperf", gpu, "bf16", ""}; }

TEST(StepError, WeighsFamiliesByTheirShareOfTheTime) {
  const double gemm = family_error(synperf, "gemm"), host = family_error(synperf, "host");
  const StepError error = step_error({three_to_one(synperf)});
  EXPECT_NEAR(error.mean_absolute(), 0.75 * gemm + 0.25 * host, 1e-12);
  ASSERT_EQ(error.families.size(), 2U);
  EXPECT_GE(error.families[0].part(), error.families[1].part());
  // The 95th percentile of the normal distribution is 1.6449.
  EXPECT_NEAR(error.half_width(0.9),
              error.mean_absolute() * std::sqrt(std::numbers::pi / 2) * 1.64485, 1e-5);
  EXPECT_NEAR(errors_in_half_width(0.9), 2.06151, 1e-5);
}

TEST(StepError, AddsUpReplicasOfSeveralKinds) {
  // 3 s of products on a GPU that was measured and 3 s on one that was not.
  const StepError error =
      step_error({{on("h100-sxm"), {{"gemm", 3.0}}}, {on("h20"), {{"gemm", 3.0}}}});
  ASSERT_EQ(error.families.size(), 1U);
  EXPECT_DOUBLE_EQ(error.families[0].share, 1.0);
  EXPECT_DOUBLE_EQ(error.families[0].error,
                   (family_error(on("h100-sxm"), "gemm") + family_error(on("h20"), "gemm")) / 2);
}

TEST(StepError, OfNothingIsNothing) {
  EXPECT_EQ(step_error({}).half_width(0.9), 0.0);
  EXPECT_EQ(step_error({{synperf, {{"gemm", 0.0}}}}).half_width(0.9), 0.0);
}

TEST(StepError, IsLargerOnAGpuThatNobodyMeasured) {
  for (const char* family : {"gemm", "attention", "mla", "fused_moe", "rms_norm", "all_reduce"}) {
    EXPECT_GT(family_error(on("h20"), family), family_error(on("h200-sxm"), family)) << family;
  }
}

TEST(StepError, KnowsFormatsAndPredictors) {
  const PricedBy fp8 = {"synperf", "h100-sxm", "fp8_block", ""};
  const PricedBy experts = {"synperf", "b200-sxm", "bf16", "mxfp4"};
  EXPECT_NE(family_error(fp8, "gemm"), family_error(synperf, "gemm"));
  EXPECT_NE(family_error(experts, "fused_moe"), family_error(on("b200-sxm"), "fused_moe"));
  const PricedBy roofline = {"roofline", "h100-sxm", "bf16", ""};
  const PricedBy plugin = {"my-own", "h100-sxm", "bf16", ""};
  EXPECT_GT(family_error(roofline, "gemm"), 3 * family_error(synperf, "gemm"));
  EXPECT_EQ(family_error(plugin, "gemm"), family_error(roofline, "gemm"));
}

TEST(StepError, HasAnErrorForEveryPredictorAndFamily) {
  for (const char* predictor : {"synperf", "roofline", "linear", "neusight"}) {
    for (const char* family : {"gemm",
                               "batched_gemm",
                               "attention",
                               "mla",
                               "fused_moe",
                               "rms_norm",
                               "fused_add_rms_norm",
                               "silu_and_mul",
                               "qk_norm",
                               "rope",
                               "kv_write",
                               "sampling",
                               "topk_routing",
                               "embedding",
                               "draft",
                               "host",
                               "kv_copy",
                               "all_reduce",
                               "all_gather",
                               "shared_communication",
                               "send"}) {
      const double error = family_error({predictor, "h200-sxm", "bf16", ""}, family);
      EXPECT_GT(error, 0.001) << predictor << " " << family;
      EXPECT_LE(error, 1.0) << predictor << " " << family;
    }
  }
}

TEST(StepError, GoesThroughTheReport) {
  Report report;
  const StepError error = report.step_error = step_error({three_to_one(synperf)});
  const StepError again = read_report(report_value(report)).step_error;
  ASSERT_EQ(again.families.size(), error.families.size());
  EXPECT_EQ(again.families[0].family, error.families[0].family);
  EXPECT_NEAR(again.half_width(0.9), error.half_width(0.9), 1e-9);
  EXPECT_THROW((void)read_report(ValueObject{}), InternalError);
}

}  // namespace
}  // namespace foretoken
