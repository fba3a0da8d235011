// Drafts in an engine: how many are accepted, what a step with them looks like, the blocks they
// need, and what their passes cost.
#include "sim/serving/speculation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "sim/serving/decode_lattice.hpp"
#include "sim/serving/kv_cache.hpp"
#include "sim/serving/memory_plan.hpp"
#include "workloads/batch_parts.hpp"

namespace foretoken::speculation_test {
namespace {

using testing::ElementsAre;

AcceptanceSampler sampler(std::vector<double> probabilities, std::uint64_t seed = 7,
                          std::uint32_t replica = 0) {
  return {std::move(probabilities), RandomStreams(seed), ReplicaId{replica}};
}

TEST(Acceptance, IsAllOrNothingAtOneAndZero) {
  AcceptanceSampler all = sampler({1, 1, 1});
  AcceptanceSampler none = sampler({0, 1, 1});
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(all.draw(3), 3);
    ASSERT_EQ(all.draw(2), 2);
    ASSERT_EQ(none.draw(3), 0);
  }
  EXPECT_EQ(all.totals().verifications, 2000);
  EXPECT_THAT(all.totals().drafted, ElementsAre(2000, 2000, 1000));
  EXPECT_THAT(all.totals().accepted, ElementsAre(2000, 2000, 1000));
  EXPECT_DOUBLE_EQ(all.totals().acceptance_length(), 3.5);
  EXPECT_DOUBLE_EQ(none.totals().acceptance_length(), 1);
}

// Accepted at position j: the product of the probabilities up to it. 0.8, 0.56, 0.28; a position's
// count is binomial, so that five standard deviations of 100,000 draws bound it.
TEST(Acceptance, FollowsTheCumulativeProducts) {
  AcceptanceSampler drawn = sampler({0.8, 0.7, 0.5});
  constexpr int draws = 100'000;
  for (int i = 0; i < draws; ++i) drawn.draw(3);
  const std::vector<double> expected = {0.8, 0.56, 0.28};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double sigma = std::sqrt(expected[i] * (1 - expected[i]) / draws);
    EXPECT_NEAR(static_cast<double>(drawn.totals().accepted[i]) / draws, expected[i], 5 * sigma);
  }
  EXPECT_NEAR(drawn.totals().acceptance_length(), 2.64, 0.02);
}

TEST(Acceptance, OfAPositionDoesNotDependOnThoseBehind) {
  AcceptanceSampler one = sampler({0.6}), three = sampler({0.6, 0.5, 0.4});
  AcceptanceSampler other = sampler({0.6}, 7, 1);
  bool differs = false;
  for (int i = 0; i < 1000; ++i) {
    const std::int64_t first = one.draw(1);
    ASSERT_EQ(first, std::min<std::int64_t>(three.draw(3), 1));
    differs = differs || first != other.draw(1);
  }
  EXPECT_TRUE(differs) << "two replicas draw the same";
}

TEST(Acceptance, MoreDraftsThanPositionsAreOurBug) {
  AcceptanceSampler drawn = sampler({0.5});
  EXPECT_THROW(drawn.draw(2), InternalError);
  EXPECT_THROW(drawn.draw(0), InternalError);
}

Sequence decoding(std::int64_t prompt, std::int64_t produced, int drafts) {
  Sequence sequence;
  sequence.prompt_tokens = prompt;
  sequence.output_tokens = 1000;
  sequence.produced = produced;
  sequence.computed = prompt + produced - 1;
  sequence.drafts = drafts;
  return sequence;
}

TEST(SequenceWithDrafts, LacksWhatIsKnown) {
  Sequence sequence = decoding(100, 5, 3);
  EXPECT_EQ(sequence.missing_tokens(), 1);
  EXPECT_EQ(sequence.decode_tokens(), 4);
  sequence.computed += 4;  // in flight
  EXPECT_EQ(sequence.missing_tokens(), 0);
  sequence.computed = 0;  // preempted
  EXPECT_EQ(sequence.missing_tokens(), 105);
}

TEST(BatchWithDrafts, VerifiesWhatFits) {
  Batch batch;
  batch.drafts_max = 3;
  batch.lists_sequences = true;
  Sequence whole = decoding(100, 5, 3), cut = decoding(200, 1, 3), prompt, chunk;
  prompt.prompt_tokens = chunk.prompt_tokens = 50;
  batch.add(whole, 4);
  batch.add(cut, 2);  // the budget left room for one draft
  batch.add(prompt, 50);
  batch.add(chunk, 20);
  ASSERT_EQ(batch.entries.size(), 4U);
  EXPECT_EQ(batch.entries[0].drafts, 3);
  EXPECT_EQ(batch.entries[1].drafts, 1);
  EXPECT_TRUE(batch.entries[1].samples);
  EXPECT_EQ(batch.entries[2].drafts, 0);
  EXPECT_TRUE(batch.entries[2].samples);
  EXPECT_FALSE(batch.entries[3].samples);
  EXPECT_EQ(batch.shape.tokens, 76);
  EXPECT_EQ(batch.shape.logit_rows, 4 + 2 + 1);
  EXPECT_EQ(batch.shape.attention.decode.sequences, 2);
  EXPECT_EQ(batch.shape.attention.decode.query_tokens, 6);
  EXPECT_EQ(batch.shape.attention.prefill.query_tokens, 70);
  // The draft goes on behind the three that sample.
  EXPECT_EQ(batch.drafting.tokens, 3);
  EXPECT_EQ(batch.drafting.logit_rows, 3);
  EXPECT_EQ(batch.drafting.attention.decode.context_tokens, 108 + 202 + 50);
  EXPECT_EQ(batch.drafting.attention.sequences.size(), 3U);
  batch.clear();
  EXPECT_EQ(batch.drafting.tokens, 0);
}

TEST(HalfBatchWithDrafts, KeepsVerificationsWhole) {
  BatchShape shape;
  shape.attention = AttentionLoad::exact({{4, 100}, {4, 200}, {4, 300}}, 4);
  shape.tokens = shape.logit_rows = 12;
  for (const bool lists : {true, false}) {
    if (!lists) shape.attention.sequences.clear();
    const std::vector<BatchShape> halves = split_batch(shape, 2);
    const BatchShape &first = halves[0], &second = halves[1];
    EXPECT_EQ(first.tokens, 8) << lists;
    EXPECT_EQ(second.tokens, 4) << lists;
    EXPECT_EQ(first.attention.decode.sequences, 2) << lists;
    EXPECT_EQ(second.attention.decode.query_tokens, 4) << lists;
    EXPECT_EQ(first.attention.prefill.sequences, 0) << lists;
  }
  BatchShape lone;
  lone.attention = AttentionLoad::exact({{4, 100}}, 4);
  lone.attention.sequences.clear();
  lone.tokens = 4;
  EXPECT_EQ(split_batch(lone, 2)[1].tokens, 0);
}

// 10 blocks of 16, room for 14 tokens behind the last known one. A prompt's chunk needs none.
TEST(KvCacheWithDrafts, KeepsRoomForThem) {
  KvCache cache(10, 16);
  Sequence sequence = decoding(100, 0, 3);
  sequence.computed = 0;
  sequence.draft_room = 14;
  ASSERT_TRUE(cache.start(sequence, {}, 64));
  EXPECT_EQ(sequence.blocks, 4);
  ASSERT_TRUE(cache.grow(sequence, 100));
  EXPECT_EQ(sequence.blocks, 8);  // 114 tokens
  sequence.produced = 1;
  ASSERT_TRUE(cache.grow(sequence, 104));
  EXPECT_EQ(sequence.blocks, 8);  // 115: the drafts that are verified are part of the room
  sequence.produced = 46;
  EXPECT_TRUE(cache.grow(sequence, 149));  // 160
  sequence.produced = 47;
  EXPECT_FALSE(cache.grow(sequence, 150)) << "161 tokens do not fit 160";
  cache.release(sequence);
  EXPECT_EQ(cache.free(), 10);
}

TEST(KvCacheWithDrafts, AskForBlocksBeforeTheyStart) {
  KvCache cache(7, 16);
  Sequence sequence;
  sequence.prompt_tokens = 100;
  sequence.output_tokens = 5;
  sequence.draft_room = 13;
  EXPECT_FALSE(cache.start(sequence, {}, 100)) << "113 tokens need 8 blocks";
  EXPECT_EQ(sequence.blocks, 0);
  EXPECT_TRUE(cache.start(sequence, {}, 99));
}

/// A price that is linear in pairs; counts how often it is asked.
class PairPredictor final : public Predictor {
 public:
  explicit PairPredictor(std::int64_t& calls) : calls_(calls) {}
  [[nodiscard]] Prediction predict(const Kernel& kernel, const GpuSpec&) const override {
    ++calls_;
    return {Seconds(price(std::get<Attention>(kernel).load.decode)), Bound::dram, Origin::analytic};
  }
  static double price(const LoadSums& sums) {
    return 3e-6 + 1e-9 * static_cast<double>(sums.context_tokens) + 1e-10 * sums.causal_pairs;
  }

 private:
  std::int64_t& calls_;
};

TEST(DecodeLatticeWithDrafts, IsExactForLinearPricesAndAsksSeldom) {
  std::int64_t calls = 0;
  const MemoPredictor predictor(std::make_unique<PairPredictor>(calls), GpuSpec{});
  DecodeLattice lattice(predictor);
  Kernel kernel = Attention{};
  for (std::int64_t context = 8; context < 20'000; ++context) {
    AttentionLoad load;
    for (int i = 0; i < 5; ++i) load.decode.add({4, context});
    ASSERT_NEAR(lattice.price(kernel, load).time.value() / PairPredictor::price(load.decode), 1.0,
                1e-12)
        << context;
  }
  EXPECT_LT(calls, 700);
}

TEST(DecodeLatticeWithDrafts, NeverAsksForContextsShorterThanTheQueries) {
  std::int64_t calls = 0;
  const MemoPredictor predictor(std::make_unique<PairPredictor>(calls), GpuSpec{});
  DecodeLattice lattice(predictor);
  Kernel kernel = Attention{};
  AttentionLoad load;
  for (int i = 0; i < 33; ++i) load.decode.add({4, 4});
  EXPECT_NEAR(lattice.price(kernel, load).time.value() / PairPredictor::price(load.decode), 1.0,
              1e-12);
}

// Every launch costs 1 ms whatever its shape, so that passes are counted in launches.
class FixedPrice final : public Predictor {
 public:
  [[nodiscard]] Prediction predict(const Kernel&, const GpuSpec&) const override {
    return {Seconds(1e-3), Bound::dram, Origin::analytic};
  }
};

class DraftPasses : public ::testing::Test {
 protected:
  static std::unique_ptr<StagePricer> pricer(const Transformer& model, const CommSettings& comm,
                                             const MemoPredictor& predictor) {
    GroupLinks alone;
    alone.ranks = 1;
    alone.is_private = true;
    return std::make_unique<StagePricer>(model, ParallelLayout{}, ExecutionSettings{}, 0, alone,
                                         comm, predictor);
  }
  Seconds price(int drafts, const Batch& batch) {
    const Transformer head = load_model("eagle3-llama-3.1-8b", {});
    Transformer following = head;
    following.draft_head->target_layers = 0;
    passes = std::make_unique<DraftPricer>(pricer(head, comm, predictor),
                                           pricer(following, comm, predictor));
    return passes->price(std::span(&batch, 1), {.passes = drafts});
  }

  CommSettings comm;
  MemoPredictor predictor{std::make_unique<FixedPrice>(), GpuSpec{}};
  std::unique_ptr<DraftPricer> passes;
};

// EAGLE-3: embedding, 12 operators of the layer, final norm, LM head and sampling: 16 launches;
// later passes lack the projection of the target's hidden states.
TEST_F(DraftPasses, RunOneAfterTheOther) {
  Batch batch;
  batch.drafts_max = 4;
  Sequence sequence = decoding(100, 5, 4);
  batch.add(sequence, 5);
  EXPECT_NEAR(price(1, batch).value(), 16e-3, 1e-12);
  EXPECT_NEAR(price(4, batch).value(), (16 + 3 * 15) * 1e-3, 1e-12);
  PriceTotals totals;
  passes->add_to(totals);
  ASSERT_EQ(totals.time_by.size(), 1U);
  EXPECT_EQ(totals.time_by.front().first, "draft");
  EXPECT_NEAR(totals.time_by.front().second.value(), 61e-3, 1e-12);
  EXPECT_EQ(totals.launches_by_origin[static_cast<std::size_t>(Origin::analytic)], 61);
}

TEST_F(DraftPasses, AreAsManyAsTheStepAsksFor) {
  Batch batch;
  batch.drafts_max = 4;
  Sequence sequence = decoding(100, 5, 4);
  batch.add(sequence, 5);
  EXPECT_NEAR(price(4, batch).value(), (16 + 3 * 15) * 1e-3, 1e-12);
  EXPECT_NEAR(passes->price(std::span(&batch, 1), {.passes = 2}).value(), (16 + 15) * 1e-3, 1e-12);
  EXPECT_EQ(passes->price(std::span(&batch, 1), {.passes = 0}).value(), 0);
}

TEST(DraftsByBatch, HoldFromTheirNumberOfSequencesOn) {
  Speculation speculation{
      .drafts = 4, .drafts_by_batch = {{16, 2}, {64, 0}}, .acceptance = sampler({1})};
  EXPECT_EQ(speculation.drafts_after(1), 4);
  EXPECT_EQ(speculation.drafts_after(15), 4);
  EXPECT_EQ(speculation.drafts_after(16), 2);
  EXPECT_EQ(speculation.drafts_after(64), 0);
  EXPECT_EQ(speculation.drafts_after(500), 0);
}

// A chunk of a prompt passes the draft once, for its keys and values: no LM head, no sampling.
TEST_F(DraftPasses, FollowPromptsOnce) {
  Batch batch;
  batch.drafts_max = 4;
  Sequence sequence;
  sequence.prompt_tokens = 100;
  batch.add(sequence, 60);
  EXPECT_NEAR(price(4, batch).value(), 14e-3, 1e-12);
}

// A draft of 1 MB of weights and 4 B a token, three drafts: the last stage alone has them, and four
// rows of logits a sequence instead of one.
TEST(MemoryPlanWithDrafts, CountsWeightsKeysAndLogits) {
  const Transformer model = load_model("llama-3.1-8b", {});
  const GpuSpec gpu = load_gpu("h200-sxm", {});
  MemoryLimits limits{{.batch_tokens_max = 512, .sequences_max = 256}, {}};
  const MemoryPlan plain = plan_memory(model, {}, {}, gpu, limits);
  limits.draft = {.drafts = 3, .weights = Bytes(1e6), .kv_per_token = Bytes(4)};
  const MemoryPlan plan = plan_memory(model, {}, {}, gpu, limits);
  EXPECT_DOUBLE_EQ(plan.draft_weights.value(), 1e6);
  EXPECT_DOUBLE_EQ((plan.weights - plain.weights).value(), 1e6);
  EXPECT_DOUBLE_EQ((plan.kv_block - plain.kv_block).value(), 16 * 4);
  EXPECT_EQ(plain.draft_weights, Bytes(0));
  // 512 rows (as many as the step has tokens) in place of 256: 14 B each for each token of the
  // vocabulary. One embedding is larger than 256 rows of logits, and smaller than 512.
  EXPECT_GT(plan.activations, plain.activations - Bytes(1));
  EXPECT_LT(plan.kv_blocks, plain.kv_blocks);
  limits.draft.drafts = 0;
  EXPECT_EQ(plan_memory(model, {}, {}, gpu, limits).activations, plain.activations);
}

TEST(MemoryPlanWithDrafts, OnlyTheLastStageHasThem) {
  const Transformer model = load_model("llama-3.1-8b", {});
  GpuSpec gpu = load_gpu("h200-sxm", {});
  MemoryLimits limits;
  limits.draft = {.drafts = 3, .weights = Bytes(30e9), .kv_per_token = Bytes(4096)};
  const MemoryPlan plan = plan_memory(model, {.pipeline = 2}, {}, gpu, limits);
  EXPECT_DOUBLE_EQ(plan.draft_weights.value(), 30e9) << "the last stage is now the fullest";
  limits.draft.weights = Bytes(300e9);
  try {
    const MemoryPlan none = plan_memory(model, {.pipeline = 2}, {}, gpu, limits);
    check_memory(none, model, {.pipeline = 2}, gpu, limits, {"s.toml"}, {"s.toml"});
    FAIL() << "300 GB fit";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("(279 GiB of them the draft's)"));
  }
}

}  // namespace
}  // namespace foretoken::speculation_test
