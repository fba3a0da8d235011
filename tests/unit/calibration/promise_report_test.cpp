// What a promise is made of, and how it is judged.
#include "calibration/evaluate/promise_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/base/json.hpp"

namespace foretoken::promise_report_test {
namespace {

ErrorCell cell_of(const Kernel& kernel, double us) {
  return error_cell("gemm_16bit", kernel, load_gpu("h100-sxm", {}), Seconds(us * 1e-6));
}

Gemm product(Framework framework) {
  return {64, 4096, 4096, DType::bf16, {framework, KernelSource::cublas}};
}

/// `count` launches that are off by 1/count, 2/count … 1.
void add(std::vector<PromisedLaunch>& launches, const ErrorCell& cell, int count, double promised) {
  for (int i = 1; i <= count; ++i) {
    launches.push_back(
        {cell, static_cast<double>(i) / count, promised, static_cast<std::uint64_t>(i)});
  }
}

TEST(ErrorCells, TellBatchesAndLengthsApart) {
  const GpuSpec gpu = load_gpu("h200-sxm", {});
  Attention attention{.query_heads = 8, .kv_heads = 1, .head_dim = 128};
  const auto cell = [&](std::vector<SequenceSlice> slices, double us) {
    attention.load = AttentionLoad::exact(std::move(slices));
    return error_cell("attention_prefill", attention, gpu, Seconds(us * 1e-6));
  };
  EXPECT_EQ(cell({{100, 100}}, 20).batch, BatchKind::prompts);
  EXPECT_EQ(cell({{1, 100}}, 20).batch, BatchKind::decodes);
  EXPECT_EQ(cell({{100, 100}, {1, 100}}, 20).batch, BatchKind::mixed);
  EXPECT_EQ(cell({{1, 100}}, 9.9).length, LaunchLength::below_10_us);
  EXPECT_EQ(cell({{1, 100}}, 10.1).length, LaunchLength::below_100_us);
  EXPECT_EQ(cell({{1, 100}}, 100.1).length, LaunchLength::below_1_ms);
  EXPECT_EQ(cell({{1, 100}}, 1001).length, LaunchLength::longer);
  // What the framework would choose is what it would be called.
  EXPECT_EQ(cell({{1, 100}}, 20).source, KernelSource::flash_attention_3);
}

TEST(PromiseReport, PromisesHalfOfWhatNineOfTenStayWithin) {
  std::vector<PromisedLaunch> launches;
  add(launches, cell_of(product(Framework::vllm), 50), 200, 0.45);
  add(launches, cell_of(product(Framework::sglang), 50), 20, 0.1);  // too few for a cell
  add(launches, cell_of(product(Framework::sglang), 5), 20, 0.1);
  const PromiseReport report(launches);
  const PriceErrors errors(report.entries());
  // Of 200, 180 stay within 0.9 and the next one is off by 0.905.
  EXPECT_NEAR(*errors.find(cell_of(product(Framework::vllm), 50)), 0.4525, 1e-4);
  // The two small ones are one: of 40, 36 stay within 0.9, the next by 0.95.
  EXPECT_NEAR(*errors.find(cell_of(product(Framework::sglang), 50)), 0.475, 1e-4);
  EXPECT_EQ(errors.find(cell_of(product(Framework::sglang), 5)),
            errors.find(cell_of(product(Framework::sglang), 50)));
  EXPECT_FALSE(errors.find(rest_cell("gemm_16bit", "a100-sxm")).has_value());
  // 0.45 twice covers 180 of 200; 0.1 twice 8 of 40.
  EXPECT_THAT(report.text(false), testing::HasSubstr("in 1 of 2 cells"));
  EXPECT_EQ(report.text(true),
            "twice the promised error covers 85 to 95 % of the launches in 1 of 2 cells\n");
}

TEST(PriceErrors, ComeBackAsWritten) {
  std::vector<PromisedLaunch> launches;
  add(launches, cell_of(product(Framework::vllm), 50), 200, 0.45);
  const PriceErrors errors(PromiseReport(launches).entries());
  const PriceErrors again = PriceErrors::read(to_json(errors.json("test")), "errors.json");
  EXPECT_EQ(again.find(cell_of(product(Framework::vllm), 50)),
            errors.find(cell_of(product(Framework::vllm), 50)));
  EXPECT_THROW(PriceErrors::read("{}", "errors.json"), ConfigError);
}

}  // namespace
}  // namespace foretoken::promise_report_test
