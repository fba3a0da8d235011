// A run's launches as weights of shapes, counted by hand for Llama-3.1-8B: 32 layers, width 4096,
// an RMS norm before the first and 64 with an addition after it.
#include "calibration/tune/traffic.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <numeric>

#include "calibration/tune/evaluator.hpp"
#include "calibration/tune/reward.hpp"
#include "calibration/tune/search.hpp"
#include "calibration/tune/serving.hpp"
#include "tests/own_folder.hpp"
#include "tests/unit/tune/suite_problem.hpp"

namespace foretoken::tune::traffic_test {
namespace {

using testing::HasSubstr;

std::string steps_file(const std::string& text) {
  std::filesystem::create_directories(own_folder());
  const std::string path = own_folder() / "steps.jsonl";
  std::ofstream(path) << text;
  return path;
}

/// Three steps: a prompt of 1,024 tokens, then two decodes of it; one more of another stage.
Traffic three_steps(Objective objective = Objective::cost) {
  return Traffic(steps_file(R"({"duration_s":0.02,"stage":0,"prefill":[[1024,1024]],"decode":[]}
{"duration_s":0.005,"stage":0,"prefill":[],"decode":[[1025,1]]}
{"duration_s":0.005,"stage":0,"prefill":[],"decode":[[1026,1]]}
{"duration_s":0.005,"stage":1,"prefill":[],"decode":[[1026,1]]}
)"),
                 "llama-3.1-8b", 1, objective);
}

double sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

std::string refusal(const std::string& steps, const std::string& model, int tp) {
  try {
    Traffic(steps_file(steps), model, tp);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(Traffic, CountsLaunchesForTheNearestShape) {
  const Traffic traffic = three_steps();
  EXPECT_EQ(traffic.units(), 3);
  EXPECT_NEAR(traffic.mean_seconds(), 0.01, 1e-12);
  Problem norm = suite_problem("rms_norm"), add_norm = suite_problem("add_rms_norm");
  // 3 x 64 norms; those of one token may be out of every shape's reach, but none is lost.
  const TrafficShare share = traffic.weigh(add_norm);
  EXPECT_EQ(share.launches + share.left_out, 3 * 64);
  EXPECT_EQ(sum(add_norm.weights), share.launches);
  EXPECT_GE(share.distance, 1);
  EXPECT_LT(share.distance, Traffic::reach);
  const TrafficShare first = traffic.weigh(norm);
  EXPECT_EQ(first.launches + first.left_out, 3);
}

TEST(Traffic, ShapesThatTheRunLaunchesGetItsWeights) {
  Problem norm = suite_problem("add_rms_norm");
  norm.shapes = {{1, 4096}, {1024, 4096}, {1024, 8192}};
  const TrafficShare share = three_steps().weigh(norm);
  EXPECT_THAT(norm.weights, testing::ElementsAre(128, 64, 0));
  EXPECT_EQ(share.left_out, 0);
  EXPECT_DOUBLE_EQ(share.distance, 1);
}

TEST(Traffic, BringsItsOwnShapesOfWhatWorksRowByRow) {
  const Traffic traffic = three_steps();
  Problem norm = suite_problem("add_rms_norm");
  EXPECT_TRUE(traffic.take_shapes(norm));
  EXPECT_THAT(norm.shapes, testing::ElementsAre(Shape{1, 4096}, Shape{1024, 4096}));
  (void)traffic.weigh(norm);
  EXPECT_THAT(norm.weights, testing::ElementsAre(128, 64));
  Problem few = suite_problem("add_rms_norm");
  EXPECT_TRUE(traffic.take_shapes(few, 1));
  EXPECT_THAT(few.shapes, testing::ElementsAre(Shape{1024, 4096}));  // 64 x 1,024 rows against 128
  for (const char* name : {"matmul", "rope", "swiglu", "softmax"}) {
    Problem problem = suite_problem(name);
    const std::vector<Shape> before = problem.shapes;
    EXPECT_FALSE(traffic.take_shapes(problem)) << name;
    EXPECT_EQ(problem.shapes, before) << name;
  }
}

// Nobody decodes while the prompt is computed, so it costs but is in nobody's TPOT.
TEST(Traffic, TpotCountsAStepForEachAnswerThatWaits) {
  const Traffic traffic = three_steps(Objective::tpot);
  EXPECT_EQ(traffic.units(), 2);
  EXPECT_NEAR(traffic.mean_seconds(), 0.005, 1e-12);
  Problem norm = suite_problem("add_rms_norm");
  norm.shapes = {{1, 4096}, {1024, 4096}};
  const TrafficShare share = traffic.weigh(norm);
  EXPECT_THAT(norm.weights, testing::ElementsAre(128, 0));
  EXPECT_EQ(share.launches, 3 * 64);  // launches stay launches
}

// Replica 0 decodes 4, computes a prompt while they wait, decodes 3 of them and the new one's; the
// prompts of replica 1, before and after all its decodes, keep nobody waiting.
TEST(Traffic, AnswersWaitForPromptsBetweenTheirTokens) {
  const auto steps =
      read_traffic_steps(steps_file(R"({"duration_s":1,"replica":1,"prefill":[[8,8]],"decode":[]}
{"duration_s":1,"replica":0,"prefill":[],"decode":[[9,4]]}
{"duration_s":1,"replica":1,"prefill":[],"decode":[[9,1]]}
{"duration_s":1,"replica":0,"prefill":[[8,8]],"decode":[]}
{"duration_s":1,"replica":1,"prefill":[[8,8]],"decode":[]}
{"duration_s":1,"replica":0,"prefill":[],"decode":[[9,3]]}
)"),
                         Objective::tpot);
  std::vector<double> weights;
  for (const TrafficStep& step : steps) weights.push_back(step.weight);
  EXPECT_THAT(weights, testing::ElementsAre(0, 4, 1, 3, 0, 3));
}

TEST(Traffic, LeavesOutWhatTheRunDoesNotLaunch) {
  for (const char* name : {"softmax", "attention", "mixture_of_experts"}) {
    Problem problem = suite_problem(name);
    EXPECT_EQ(three_steps().weigh(problem).launches, 0) << name;
    EXPECT_TRUE(problem.weights.empty()) << name;
  }
}

// 1 x 10 s and 3 x 1 s of the reference; the candidate halves the second: (10 + 3 x 2) / 13.
TEST(Traffic, WeightsGoIntoTheSpeedUp) {
  const std::vector<double> reference{10, 1}, candidate{10, 0.5}, launches{1, 3};
  EXPECT_DOUBLE_EQ(weighted_speedup(reference, candidate, launches), 16.0 / 13);
  EXPECT_DOUBLE_EQ(weighted_speedup(reference, candidate), 12.0 / 11);
  Problem problem = suite_problem("rms_norm");
  problem.weights.assign(problem.shapes.size(), 0);
  problem.weights.back() = 5;
  const auto simulated = make_simulated(h200(), {});
  Judge judge(problem, *simulated);
  State other = start_state(problem);
  other.front() = (other.front() + 1) % static_cast<int>(problem.parameters[0].values.size());
  const Judged start = judge.judge(candidate_at(problem, start_state(problem)));
  const Judged& judged = judge.judge(candidate_at(problem, other));
  ASSERT_EQ(judged.evaluation.status, Status::ok);
  EXPECT_NEAR(1 / judged.time, start.evaluation.seconds.back() / judged.evaluation.seconds.back(),
              1e-9);
}

TEST(Traffic, SaysWhatIsWrong) {
  const std::string fine = R"({"duration_s":0.02,"prefill":[[8,8]],"decode":[]})";
  EXPECT_THAT(refusal("", "llama-3.1-8b", 1), HasSubstr("holds no step"));
  EXPECT_THAT(refusal("{}\n", "llama-3.1-8b", 1), HasSubstr("has no list 'prefill'"));
  EXPECT_THAT(refusal(R"({"prefill":[[0,8]],"decode":[]})", "llama-3.1-8b", 1),
              HasSubstr("steps.jsonl:1: a batch's entries are pairs"));
  EXPECT_THAT(refusal(fine, "lama-3.1-8b", 1), HasSubstr("llama-3.1-8b"));
  EXPECT_THAT(refusal(fine, "llama-3.1-8b", 7), HasSubstr("7"));
  EXPECT_EQ(refusal(fine, "llama-3.1-8b", 2), "");
  EXPECT_THROW((void)read_traffic_steps(steps_file(fine), Objective::tpot), ConfigError);
}

}  // namespace
}  // namespace foretoken::tune::traffic_test
