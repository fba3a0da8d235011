// What a step costs on one stage: looked up parts and attention together equal the plain sum over
// the generator's kernels.

#include "sim/serving/stage_pricer.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "hardware/cluster.hpp"

namespace foretoken {
namespace {

std::unique_ptr<Predictor> roofline() {
  Diagnostics diagnostics;
  const Value empty;
  TableReader options(empty, diagnostics, "predictor");
  return predictor_catalog().find("roofline", {}).make(options);
}

class StagePricerTest : public ::testing::Test {
 protected:
  BatchShape batch(std::int64_t tokens, std::int64_t context) {
    BatchShape shape;
    shape.attention.prefill.add({tokens, context});
    shape.tokens = tokens;
    shape.logit_rows = 1;
    return shape;
  }

  /// The sum over kernels, collectives by their closed form.
  Seconds plain_sum(const ParallelLayout& layout, const BatchShape& shape,
                    const GroupLinks& links) {
    Seconds total;
    for (const KernelCall& call : generate(model, layout, execution, shape, 0)) {
      const auto* collective = std::get_if<Collective>(&call.kernel);
      const Seconds once = collective != nullptr
                               ? collective_time(collective->op, links, Bytes(collective->bytes))
                               : predictor->predict(call.kernel).time;
      total += once * call.calls;
    }
    return total;
  }

  Transformer model = load_model("llama-3.1-8b", {});
  GpuSpec gpu = load_gpu("h200-sxm", {});
  ExecutionSettings execution;
  std::unique_ptr<MemoPredictor> predictor = std::make_unique<MemoPredictor>(roofline(), gpu);
};

TEST_F(StagePricerTest, EqualsTheSumOverKernelsSeenAndUnseen) {
  GroupLinks links;
  StagePricer pricer(model, {}, execution, 0, links, *predictor);
  for (const std::int64_t context : {100, 700, 4000}) {  // the same template, other attention
    const BatchShape shape = batch(100, context);
    EXPECT_NEAR(pricer.price(shape).time / plain_sum({}, shape, links), 1.0, 1e-12);
  }
}

TEST_F(StagePricerTest, PricesPrivateCollectivesAndLeavesSharedOnes) {
  ParallelLayout layout;
  layout.tensor = 2;
  GroupLinks links;
  links.ranks = 2;
  links.latency = Seconds(2e-6);
  links.bandwidth = BytesPerSecond(300e9);
  const BatchShape shape = batch(256, 256);
  StagePricer private_pricer(model, layout, execution, 0, links, *predictor);
  const StagePrice with = private_pricer.price(shape);
  EXPECT_TRUE(with.shared.empty());
  EXPECT_NEAR(with.time / plain_sum(layout, shape, links), 1.0, 1e-12);

  links.is_private = false;
  StagePricer shared_pricer(model, layout, execution, 0, links, *predictor);
  const StagePrice without = shared_pricer.price(shape);
  EXPECT_LT(without.time, with.time);
  int repeats = 0;
  for (const SharedCollective& collective : without.shared) {
    if (collective.op == CollectiveOp::all_reduce) repeats += collective.repeats;
  }
  EXPECT_EQ(repeats, 1 + 2 * model.layers);  // the embedding's, then two a layer
}

TEST_F(StagePricerTest, CountsTimeByFamilyAndLaunchesByOrigin) {
  StagePricer pricer(model, {}, execution, 0, GroupLinks{}, *predictor);
  Seconds total;
  for (int i = 0; i < 3; ++i) total += pricer.price(batch(64, 64 + i)).time;
  PriceTotals totals;
  pricer.add_to(totals);
  Seconds by_family;
  for (const auto& [family, time] : totals.time_by) by_family += time;
  EXPECT_NEAR(by_family / total, 1.0, 1e-12);
  int calls = 0;
  for (const KernelCall& call : generate(model, {}, execution, batch(64, 64), 0)) {
    calls += call.calls;
  }
  EXPECT_EQ(totals.launches_by_origin[static_cast<std::size_t>(Origin::analytic)], 3 * calls);
}

TEST_F(StagePricerTest, SendsHiddenStatesFromEveryStageButTheLast) {
  ParallelLayout layout;
  layout.pipeline = 2;
  StagePricer first(model, layout, execution, 0, GroupLinks{}, *predictor);
  StagePricer last(model, layout, execution, 1, GroupLinks{}, *predictor);
  // Hidden states and residual: 2 * 10 tokens * 4096 * 2 B.
  EXPECT_DOUBLE_EQ(first.price(batch(10, 10)).send_per_rank.value(), 163840.0);
  EXPECT_DOUBLE_EQ(last.price(batch(10, 10)).send_per_rank.value(), 0.0);
}

}  // namespace
}  // namespace foretoken
