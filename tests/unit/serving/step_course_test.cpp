// The order of a step's parts: their sum is the step's price, layers are rounds, and what stands
// outside of them stays there.
#include "sim/serving/step_course.hpp"

#include <gtest/gtest.h>

#include "hardware/cluster.hpp"
#include "sim/serving/stage_pricer.hpp"
#include "tests/unit/serving/roofline_predictor.hpp"

namespace foretoken::step_course_test {
namespace {

CollectivePhases phase_of(double microseconds, double bytes) {
  CollectivePhase phase;
  phase.latency = Seconds(microseconds * 1e-6);
  phase.bytes = Bytes(bytes);
  phase.rate = BytesPerSecond(1e9);
  return {phase};
}

// Embedding and its all-reduce, four layers of two kernels with an all-reduce each, a head.
TEST(StepCourse, LayersAreRoundsBetweenWhatComesOnce) {
  const std::vector<int> calls = {1, 1, 4, 4, 4, 4, 1};
  std::vector<KernelCall> kernels;
  for (const int count : calls) kernels.push_back({"kernel", Gemm{1, 1, 1}, count});
  StepCourse course(kernels);
  course.add_time(0, Seconds(5e-6));
  course.add_traffic(1, phase_of(1, 1000), CommGroup::tensor_parallel, 1);
  course.add_time(2, Seconds(8e-6));
  course.add_traffic(3, phase_of(2, 2000), CommGroup::tensor_parallel, 4);
  course.add_slot(4, 0);
  course.add_traffic(5, phase_of(3, 3000), CommGroup::expert_parallel, 4);
  course.add_time(6, Seconds(7e-6));
  StepOrder order;
  order.add(course, std::vector<Prediction>{{.time = Seconds(12e-6)}});
  const std::vector<StepRounds> rounds = order.rounds();
  ASSERT_EQ(rounds.size(), 3u);
  EXPECT_EQ(rounds[0].repeats, 1);
  EXPECT_EQ(rounds[1].repeats, 4);
  EXPECT_EQ(rounds[2].repeats, 1);
  EXPECT_NEAR(rounds[0].parts[0].compute.value(), 5e-6, 1e-15);
  ASSERT_EQ(rounds[1].parts.size(), 2u);
  EXPECT_NEAR(rounds[1].parts[0].compute.value(), 2e-6, 1e-15);
  EXPECT_NEAR(rounds[1].parts[0].traffic.bytes.value(), 2000, 1e-9);
  EXPECT_NEAR(rounds[1].parts[1].compute.value(), 3e-6, 1e-15);
  EXPECT_NEAR(rounds[1].parts[1].traffic.latency.value(), 3e-6, 1e-15);
  EXPECT_EQ(rounds[1].parts[1].group, CommGroup::expert_parallel);
  EXPECT_NEAR(rounds[2].parts[0].compute.value(), 7e-6, 1e-15);
}

TEST(StepCourse, OfNothingThatIsMovedIsEmpty) {
  const std::vector<KernelCall> kernels = {{"kernel", Gemm{1, 1, 1}, 4}};
  StepCourse course(kernels);
  course.add_time(0, Seconds(1));
  StepOrder order;
  order.add(course, {});
  EXPECT_TRUE(order.rounds().empty());
}

double sum(const std::vector<StepRounds>& rounds) {
  double total = 0;
  for (const StepRounds& one : rounds) {
    for (const StepPart& part : one.parts)
      total += (part.compute + part.traffic.time()).value() * static_cast<double>(one.repeats);
  }
  return total;
}

TEST(StepCourse, PartsAddUpToThePrice) {
  const ClusterSpec cluster = load_cluster("h100-sxm-8", {});
  const MemoPredictor predictor(roofline(), cluster.gpu);
  const CommSettings comm{cluster.comm, "vllm"};
  std::vector<GpuId> gpus;
  for (std::uint32_t i = 0; i < 8; ++i) gpus.push_back({i});
  struct Case {
    const char* model;
    ParallelLayout layout;
  };
  const std::vector<Case> cases = {
      {"llama-3.1-70b", {.tensor = 8}},
      {"gpt-oss-120b", {.tensor = 4}},
      {"deepseek-v2-lite", {.tensor = 1, .expert = 8, .data_parallel_attention = 8}},
      {"qwen3-30b-a3b", {.tensor = 2, .expert = 8, .data_parallel_attention = 4}},
      {"gemma-3-27b", {.tensor = 2}},
  };
  for (const Case& one : cases) {
    const auto tensor = static_cast<std::size_t>(one.layout.tensor);
    StageLinks links(group_links(cluster, std::span(gpus).first(tensor)),
                     group_links(cluster, gpus));
    links.are_met = true;
    StagePricer pricer(load_model(one.model, {}), one.layout, {}, 0, links, comm, predictor);
    std::vector<BatchShape> ranks;
    for (int rank = 0; rank < one.layout.data_parallel_attention; ++rank) {
      BatchShape& shape = ranks.emplace_back();
      shape.attention.decode.add({1, 700 + 100 * rank});
      shape.tokens = shape.logit_rows = 1;
    }
    const StagePrice price = pricer.price(ranks);
    ASSERT_FALSE(price.rounds.empty()) << one.model;
    EXPECT_NEAR(sum(price.rounds) / price.time.value(), 1, 1e-12) << one.model;
  }
}

}  // namespace
}  // namespace foretoken::step_course_test
