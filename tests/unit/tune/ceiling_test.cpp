// How far kernels are from their ceilings, and that searches end there.
#include "calibration/tune/ceiling.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "calibration/tune/comparison.hpp"
#include "calibration/tune/search.hpp"
#include "calibration/tune/serving.hpp"
#include "kernels/kernel_case.hpp"
#include "tests/unit/tune/suite_problem.hpp"

namespace foretoken::tune {
namespace {

using testing::HasSubstr;

/// A problem of one parameter X in 1, 2, 4, which nobody can run.
Problem small_problem(const std::string& more) {
  return parse_problem(
      "//! summary = \"s\"\n//! tolerance = 0\n//! dims = [\"n\"]\n"
      "//! shapes = [[100], [200], [300]]\n"
      "//! parameters = [{name = \"X\", strategy = \"tiling\", values = [1, 2, 4], start = 1}]\n"
      "//! buffers = [{name = \"x\", type = \"i32\", count = \"n\", fill = \"index\","
      " below = \"8\"}]\n"
      "//! launches = [{kernel = \"k\", grid = [\"n\"], block = [\"32\"], arguments = [\"x\"]}]\n"
      "//! reference = [{kernel = \"k\", grid = [\"n\"], block = [\"32\"], arguments = [\"x\"]}]\n"
      "//! cost = {flops = \"1\", bytes = \"4.917e6 * n\", cache_bytes = \"1\"}\n" +
          more,
      "small", "small.cu");
}

/// Every implementation takes 100 us over X, on every shape.
class Planned final : public Evaluator {
 public:
  Evaluation evaluate(const Problem& problem, const Candidate& candidate) override {
    Evaluation evaluation;
    evaluation.status = Status::ok;
    evaluation.seconds.assign(problem.shapes.size(), 100e-6 / candidate.constants.at("X"));
    evaluation.kernels = {{32, 0, 0, 32, 8, 100}};
    return evaluation;
  }
  [[nodiscard]] const GpuSpec& gpu() const override { return gpu_; }

 private:
  GpuSpec gpu_ = h200();
};

Trajectory tuned(const Problem& problem, const Enough& enough) {
  Planned evaluator;
  Judge judge(problem, evaluator);
  const auto policy = make_policy(policy_catalog(), "greedy", {}, {1, 10, {}});
  const auto rewriter =
      make_template_rewriter(problem, {false, 1, [](const State&) { return true; }});
  return search(judge, *rewriter, *policy, 10, RewardRule::clipped, enough);
}

TEST(Standing, IsTheRuntimeWeightedRestAndTheMedianGap) {
  // Roofs of 1 us. Efficiencies at the ceiling: 1/2, 1/4, 1/5; of ours: 1/4, 1/4, 1/10.
  CeilingTimes ceiling{"f", {2e-6, 4e-6, 5e-6}, {1e-6, 1e-6, 1e-6}, false};
  const std::vector<double> ours{4e-6, 4e-6, 10e-6};
  const Standing standing = standing_of(ceiling, ours);
  // (4 * 2 + 4 * 1 + 10 * 2) / 18; gaps 1/4, 0 and 1/10.
  EXPECT_NEAR(standing.speedup_left, 32.0 / 18, 1e-12);
  EXPECT_NEAR(standing.gap, 0.1, 1e-12);
  EXPECT_NEAR(standing.time_share, 11.0 / 18, 1e-12);
  EXPECT_FALSE(standing.is_at_ceiling(0.5));
  EXPECT_TRUE(standing.is_at_ceiling(0.8));
  EXPECT_TRUE(standing_of(ceiling, ceiling.seconds).is_at_ceiling(0));
}

TEST(Standing, RoofIsOfTheHeadersCosts) {
  const Problem problem = small_problem("");
  // 4.917e6 bytes an element at 4,917 GB/s: 1 us each, 600 us together; 1,200 us measured.
  EXPECT_NEAR(roof_share(problem, candidate_at(problem, start_state(problem)),
                         std::vector<double>{400e-6, 400e-6, 400e-6}, h200()),
              0.5, 1e-3);
}

TEST(Ceiling, IsThatOfTheLaunchesServingKnows) {
  const Problem problem = suite_problem("rms_norm");
  const CeilingAnswer answer = ceiling_of(problem, h200(), Ceilings());
  ASSERT_TRUE(answer.times.has_value()) << answer.why_not;
  EXPECT_EQ(answer.times->family, "rms_norm");
  EXPECT_FALSE(answer.times->is_transferred);
  Value asked = ValueObject{{"kernel", "rms_norm"},
                            {"tokens", problem.shapes[3][0]},
                            {"dim", problem.shapes[3][1]},
                            {"dtype", "bf16"},
                            {"cold", false}};
  const auto expected = Ceilings().find(read_kernel_case(asked).kernel, h200());
  EXPECT_DOUBLE_EQ(answer.times->seconds[3], expected->time.value());
}

TEST(Ceiling, SaysWhyThereIsNone) {
  EXPECT_EQ(ceiling_of(suite_problem("softmax"), h200(), Ceilings()).why_not,
            "not a serving kernel");
  const CeilingAnswer answer = ceiling_of(suite_problem("rms_norm"), h200(), Ceilings());
  EXPECT_EQ(answer.why_not, "");
}

TEST(Ceiling, OfGpusThatNobodyMeasuredIsTransferred) {
  GpuSpec gpu = h200();
  gpu.name = "new";
  const CeilingAnswer answer = ceiling_of(suite_problem("rope"), gpu, Ceilings());
  ASSERT_TRUE(answer.times.has_value()) << answer.why_not;
  EXPECT_TRUE(answer.times->is_transferred);
}

TEST(Search, EndsWhereAKernelIsEnough) {
  const Problem problem = small_problem("");
  const auto below = [](double limit) {
    return [limit](const std::vector<double>& seconds) { return seconds[0] <= limit; };
  };
  const Trajectory whole = tuned(problem, {});
  EXPECT_EQ(whole.end, End::no_arm);
  EXPECT_EQ(whole.steps.size(), 2U) << "X = 2 and 4";
  const Trajectory ended = tuned(problem, below(50e-6));
  EXPECT_EQ(ended.end, End::enough);
  EXPECT_EQ(ended.steps.size(), 1U);
  EXPECT_DOUBLE_EQ(ended.best(), 2);
  const Trajectory at_once = tuned(problem, below(100e-6));
  EXPECT_EQ(at_once.end, End::enough);
  EXPECT_TRUE(at_once.steps.empty());
  EXPECT_EQ(tuned(problem, below(1e-6)).end, End::no_arm);
}

TEST(Judge, KnowsTheBestOfASpace) {
  const Problem problem = small_problem("");
  Planned evaluator;
  Judge judge(problem, evaluator);
  EXPECT_DOUBLE_EQ(judge.best_speedup(), 4);
  EXPECT_DOUBLE_EQ(judge.best().evaluation.seconds[0], 25e-6);
}

TEST(Serving, CountsDrawsAsTheDeviceFillsThem) {
  // As device/harness.cu: hashed(i ^ hashed(seed)) % below, worked out apart.
  EXPECT_EQ(drawn_index(0, 1, 32768), 18805U);
  EXPECT_EQ(drawn_index(1, 1, 32768), 29670U);
  EXPECT_EQ(drawn_index(7, 2, 32768), 11708U);
  const Problem problem = suite_problem("mixture_of_experts");
  for (const std::size_t shape : {std::size_t{0}, std::size_t{1}, problem.shapes.size() - 1}) {
    const Shape& sizes = problem.shapes[shape];
    const Value asked = serving_case(problem, shape);
    std::int64_t sum = 0, first_half = 0;
    const auto& histogram = std::get<ValueArray>(asked.find("histogram")->data);
    ASSERT_EQ(histogram.size(), static_cast<std::size_t>(sizes[1]));
    for (std::size_t i = 0; i < histogram.size(); ++i) {
      const auto count = std::get<std::int64_t>(histogram[i].data);
      sum += count;
      if (i < histogram.size() / 2) first_half += count;
    }
    EXPECT_EQ(sum, sizes[0] * sizes[2]);
    // Half of the draws, or with skew s those below 2^15 / 2^(1/s).
    const double expected = std::pow(0.5, 1.0 / static_cast<double>(sizes[5]));
    EXPECT_NEAR(static_cast<double>(first_half) / static_cast<double>(sum), expected, 0.15);
  }
}

TEST(Serving, TilesAreThePointsOfTheSpace) {
  const Problem problem = suite_problem("matmul");
  // BM, BN, BK, VEC, STAGES, GROUP, WARPS_M, PAD
  EXPECT_EQ(tile_at(problem, {1, 2, 1, 0, 2, 1, 2, 0}), (Tile{128, 256, 64, 8, 3, 8, 1}));
}

TEST(Serving, MistakesStandAtTheHeader) {
  const auto message = [](const std::string& more) {
    try {
      small_problem("//! " + more + "\n");
    } catch (const ConfigError& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_THAT(message(R"(serves = {kernel = "rms_nrom", sizes = {tokens = "n"}})"),
              testing::AllOf(HasSubstr("small.cu:10"), HasSubstr("did you mean 'rms_norm'")));
  EXPECT_THAT(message(R"(serves = {kernel = "rms_norm", sizes = {tokens = "n"}})"),
              HasSubstr("dim"));
  EXPECT_THAT(message(R"(serves = {kernel = "rms_norm", sizes = {tokens = "m", dim = "8"}})"),
              HasSubstr("'m'"));
  EXPECT_THAT(message(R"(serves = {kernel = "rms_norm", sizes = {tokens = 3, dim = "8"}})"),
              HasSubstr("an expression in quotes"));
  const std::string rest = R"(k = "1", warps = "1", stages = "1"})";
  EXPECT_THAT(message(R"(tile = {m = "X", n = "Y", )" + rest),
              testing::AllOf(HasSubstr("small.cu:10"), HasSubstr("'Y'")));
  EXPECT_THAT(message(R"(tile = {m = "X / 2", n = "1", )" + rest), HasSubstr("tile size"));
}

}  // namespace
}  // namespace foretoken::tune
