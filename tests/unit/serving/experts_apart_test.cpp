// Experts on GPUs of their own: what a step takes, and what fits where.
#include <gtest/gtest.h>

#include <cmath>

#include "hardware/cluster.hpp"
#include "sim/serving/memory_plan.hpp"
#include "sim/serving/stage_pricer.hpp"
#include "tests/unit/serving/roofline_predictor.hpp"
#include "workloads/batch_parts.hpp"

namespace foretoken::experts_apart_pricing {
namespace {

BatchShape decodes(std::int64_t sequences, std::int64_t context) {
  BatchShape shape;
  shape.attention = AttentionLoad::exact(
      std::vector<SequenceSlice>(static_cast<std::size_t>(sequences), {1, context}));
  shape.tokens = shape.logit_rows = sequences;
  return shape;
}

std::vector<GpuId> gpus(std::uint32_t first, std::uint32_t count) {
  std::vector<GpuId> ids;
  for (std::uint32_t i = 0; i < count; ++i) ids.push_back({first + i});
  return ids;
}

class ExpertsApartTest : public ::testing::Test {
 protected:
  Seconds price(const std::vector<BatchShape>& ranks, const MemoPredictor* of_experts = nullptr) {
    StagePricer pricer(model, layout, execution, 0, links(), comm, *predictor, of_experts);
    return pricer.price(ranks).time;
  }
  StageLinks links() {
    StageLinks made{GroupLinks{}};
    made.experts = links_between(cluster, gpus(0, 4), gpus(8, 8));
    return made;
  }

  Transformer model = load_model("mixtral-8x7b", {});
  ClusterSpec cluster = load_cluster("h100-sxm-8x4", {});
  // Four attention GPUs on one node, eight with an expert each on the next.
  ParallelLayout layout{.expert = 8, .data_parallel_attention = 4, .expert_gpus = 8};
  ExecutionSettings execution;
  CommSettings comm{cluster.comm};
  std::unique_ptr<MemoPredictor> predictor =
      std::make_unique<MemoPredictor>(roofline(), cluster.gpu);
};

TEST_F(ExpertsApartTest, OneMicroBatchTakesTheSumOfAllKernels) {
  execution.expert_micro_batches = 1;
  const std::vector<BatchShape> ranks(4, decodes(64, 1000));
  StagePricer pricer(model, layout, execution, 0, links(), comm, *predictor);
  Seconds sum;
  for (const PricedKernel& kernel : pricer.kernels(ranks))
    sum += kernel.price.time * kernel.call.calls;
  EXPECT_NEAR(pricer.price(ranks).time / sum, 1.0, 1e-9);
  PriceTotals totals;
  pricer.add_to(totals);
  const SideTimes& sides = totals.sides;
  EXPECT_NEAR(sides.step / sum, 1.0, 1e-9);
  // Dispatch and combine are as long as each other in bf16; the links' time is one of them.
  EXPECT_NEAR((sides.attention + sides.experts + 2 * sides.links) / sum, 1.0, 1e-9);
}

// The schedule of the parts' own segments, which the generator numbers.
TEST_F(ExpertsApartTest, MicroBatchesTakeTurns) {
  const std::vector<BatchShape> ranks(4, decodes(96, 2000));
  const StageProgram program(model, layout, execution, 0);
  const BatchSchedule schedule(program.blocks());
  std::vector<std::vector<Seconds>> segments;
  for (const std::vector<BatchShape>& part : split_ranks(ranks, 3)) {
    BatchShape shape = part.front();
    shape.stage_tokens = 4 * 32;
    shape.stage_tokens_max = 32;
    auto& times = segments.emplace_back(schedule.streams().size());
    for (const KernelCall& call : program.kernels(shape)) {
      const auto* collective = std::get_if<Collective>(&call.kernel);
      const Seconds once = collective != nullptr ? collective_time(call_of(*collective, comm),
                                                                   links().experts, comm.parameters)
                                                 : predictor->predict(call.kernel).time;
      times[static_cast<std::size_t>(call.segment)] += once * call.calls;
    }
  }
  EXPECT_NEAR(price(ranks) / schedule.critical_path(segments), 1.0, 1e-9);
}

// A sequence more, a longer context, a slower network: none shortens a step.
TEST_F(ExpertsApartTest, MoreWorkOrFewerLinksNeverShortenAStep) {
  for (const int micro_batches : {1, 2, 3, 5}) {
    execution.expert_micro_batches = micro_batches;
    Seconds last;
    for (const std::int64_t sequences : {1, 2, 3, 8, 64, 512}) {
      const Seconds time = price(std::vector<BatchShape>(4, decodes(sequences, 1000)));
      EXPECT_GT(time, 0.99 * last) << micro_batches << " " << sequences;
      EXPECT_GE(price(std::vector<BatchShape>(4, decodes(sequences, 4000))), time);
      const NodeSpec node = cluster.node;
      cluster.node.nic_bandwidth = 0.25 * node.nic_bandwidth;
      EXPECT_GE(price(std::vector<BatchShape>(4, decodes(sequences, 1000))), time);
      cluster.node = node;
      last = time;
    }
  }
}

TEST_F(ExpertsApartTest, ExpertsArePricedOnTheirOwnKindOfGpu) {
  const MemoPredictor slower(roofline(), load_gpu("l40s", {}));
  const std::vector<BatchShape> ranks(4, decodes(256, 500));
  execution.expert_micro_batches = 1;
  StagePricer pricer(model, layout, execution, 0, links(), comm, *predictor, &slower);
  const Seconds mixed = pricer.price(ranks).time, equal = price(ranks);
  Seconds here, there;
  for (const PricedKernel& kernel : pricer.kernels(ranks)) {
    if (!std::holds_alternative<FusedMoe>(kernel.call.kernel)) continue;
    there += kernel.price.time * kernel.call.calls;
    here += predictor->predict(kernel.call.kernel).time * kernel.call.calls;
  }
  EXPECT_GT(there, 2 * here);
  EXPECT_NEAR((mixed - equal) / (there - here), 1.0, 1e-9);
}

// Each of four GPUs sends alike to eight on another node: its NICs carry all of it. To GPUs of its
// own node NVLink does; where eight send to two, these two's links are full first.
TEST_F(ExpertsApartTest, LinksAreThoseOfTheSideThatIsFullFirst) {
  const auto rate = [&](const std::vector<GpuId>& from, const std::vector<GpuId>& to) {
    return links_between(cluster, from, to).bandwidth;
  };
  const BytesPerSecond apart = rate(gpus(0, 4), gpus(8, 8));
  EXPECT_NEAR(apart / group_links(cluster, std::vector{GpuId{0}, GpuId{8}}).bandwidth, 1.0, 1e-9);
  EXPECT_GT(rate(gpus(0, 4), gpus(4, 4)), 5 * apart);
  EXPECT_NEAR(rate(gpus(0, 8), gpus(8, 2)) / apart, 0.25, 1e-9);
  EXPECT_NEAR(rate(gpus(0, 2), gpus(8, 8)) / apart, 1.0, 1e-9);
}

TEST_F(ExpertsApartTest, MemoryIsPlannedBySide) {
  const MemoryLimits limits{{.batch_tokens_max = 2048, .sequences_max = 256}, {}};
  const MemoryPlan attention = plan_memory(model, layout, execution, cluster.gpu, limits);
  const MemoryPlan experts = plan_expert_memory(model, layout, execution, cluster.gpu, limits, {});
  ParallelLayout whole = layout;
  whole.expert_gpus = 0;
  whole.expert = 4;
  const MemoryPlan both = plan_memory(model, whole, execution, cluster.gpu, limits);
  EXPECT_LT(attention.weights + experts.weights, both.weights);  // eight hold what four did
  EXPECT_GT(attention.kv_blocks, 1.4 * static_cast<double>(both.kv_blocks));
  EXPECT_EQ(experts.kv_blocks, 0);
  // Of 3 micro-batches of 4 x 2048 tokens a GPU with one of 8 experts gets 2/8 of the copies, each
  // 4096 wide, then 2 x 14336 and 14336, in 2 bytes.
  EXPECT_NEAR(experts.activations.value(), 8192.0 / 3 * 2 / 8 * (4096 + 3 * 14336) * 2, 1);
  const Bytes pieces = experts.driver + experts.context + experts.communication + experts.weights +
                       experts.activations + experts.runtime + experts.unused;
  EXPECT_NEAR(pieces / experts.capacity, 1.0, 1e-12);
  ParallelLayout few = layout;
  few.expert = few.expert_gpus = 1;
  try {
    (void)plan_expert_memory(model, few, execution, cluster.gpu, limits, {"a.toml", 2, 1});
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what())
                  .find("the experts of mixtral-8x7b do not fit on 1 x "
                        "h100-sxm: each GPU needs 84 GiB of weights"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace foretoken::experts_apart_pricing
