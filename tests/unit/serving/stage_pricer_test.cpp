// What a step costs on one stage: looked up parts and attention together equal the plain sum over
// the generator's kernels.

#include "sim/serving/stage_pricer.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "hardware/cluster.hpp"
#include "tests/unit/serving/roofline_predictor.hpp"

namespace foretoken {
namespace {

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
                               ? collective_time(call_of(*collective, comm), links, comm.parameters)
                               : predictor->predict(call.kernel).time;
      total += once * call.calls;
    }
    return total;
  }

  Transformer model = load_model("llama-3.1-8b", {});
  GpuSpec gpu = load_gpu("h200-sxm", {});
  ExecutionSettings execution;
  CommSettings comm{{load_fabric("nvswitch-hopper", {}), {}}, "ring"};
  std::unique_ptr<MemoPredictor> predictor = std::make_unique<MemoPredictor>(roofline(), gpu);
};

// With the same tokens, other adapters and none: each equals the sum over its kernels. More
// adapters, and more tokens of theirs, never take less time.
TEST_F(StagePricerTest, AdaptersAddTheirProducts) {
  execution.lora = LoraSettings{.adapters_max = 64, .rank = 16};
  StagePricer pricer(model, {}, execution, 0, GroupLinks{}, comm, *predictor);
  Seconds last;
  for (const auto& [adapters, tokens] :
       std::vector<std::pair<int, int>>{{0, 0}, {1, 1}, {1, 64}, {8, 64}, {64, 64}}) {
    BatchShape shape = batch(64, 64);
    shape.adapters = adapters;
    shape.adapted_tokens = tokens;
    const Seconds time = pricer.price(shape).time;
    EXPECT_NEAR(time / plain_sum({}, shape, GroupLinks{}), 1.0, 1e-9) << adapters;
    EXPECT_GT(time, last) << adapters << " adapters, " << tokens << " tokens";
    last = time;
  }
  EXPECT_LT(pricer.price(batch(64, 64)).time, last);
}

// 8 rows of 4,096 numbers of 16 bits are 64 KiB: such a step saves its 64 norms and nothing else, a
// larger one nothing.
TEST_F(StagePricerTest, SumsThatTakeNormsAlongSaveTheirLaunches) {
  const ParallelLayout layout{.tensor = 2};
  GroupLinks links;
  links.ranks = links.ranks_per_node_max = links.ranks_per_node_min = 2;
  links.inside_bandwidth = BytesPerSecond(4e11);
  const auto time = [&](std::int64_t tokens) {
    StagePricer pricer(model, layout, execution, 0, links, comm, *predictor);
    return pricer.price(batch(tokens, tokens)).time;
  };
  const Seconds apart = time(8), larger = time(9);
  const FusedAddRmsNorm norm{.tokens = 8, .dim = 4096, .dtype = DType::bf16, .is_cold = false};
  execution.fused_all_reduce = Bytes(65536);
  EXPECT_NEAR((apart - time(8)) / predictor->predict(norm).time, 64, 1e-6);
  EXPECT_EQ(time(9), larger);
}

// A small step is shorter by what hides behind the routed experts, kernel by kernel as in all; one
// token more than the limit is priced as ever.
TEST_F(StagePricerTest, SharedExpertsHideBehindTheRouted) {
  model = load_model("deepseek-v2-lite", {});
  const auto price = [&](std::int64_t tokens) {
    StagePricer pricer(model, {}, execution, 0, GroupLinks{}, comm, *predictor);
    const BatchShape shape = batch(tokens, tokens);
    Seconds sum;
    for (const PricedKernel& kernel : pricer.kernels(std::span(&shape, 1)))
      sum += kernel.price.time * kernel.call.calls;
    const Seconds time = pricer.price(shape).time;
    EXPECT_NEAR(sum / time, 1, 1e-9) << tokens;
    return time;
  };
  const Seconds apart = price(64), larger = price(65);
  execution.shared_experts_beside = 64;
  EXPECT_LT(price(64), apart);
  EXPECT_EQ(price(65), larger);
}

// SGLang forks in decodes alone: as many tokens of prompts have a template of their own.
TEST_F(StagePricerTest, StreamsDoNotFollowWhatCameFirst) {
  model = load_model("deepseek-v4-flash", {});
  execution.implementation.framework = Framework::sglang;
  execution.compressor_beside = 64;
  BatchShape prompts{.tokens = 8, .logit_rows = 8};
  for (int i = 0; i < 4; ++i) prompts.attention.prefill.add({2, 1000});
  BatchShape decodes{.tokens = 8, .logit_rows = 8};
  for (int i = 0; i < 8; ++i) decodes.attention.decode.add({1, 1000});
  const auto price = [&](const std::vector<BatchShape>& before, const BatchShape& shape) {
    StagePricer pricer(model, {}, execution, 0, GroupLinks{}, comm, *predictor);
    for (const BatchShape& each : before) pricer.price(each);
    Seconds sum;
    for (const PricedKernel& kernel : pricer.kernels(std::span(&shape, 1)))
      sum += kernel.price.time * kernel.call.calls;
    const Seconds time = pricer.price(shape).time;
    EXPECT_NEAR(sum / time, 1, 1e-9);
    return time;
  };
  EXPECT_EQ(price({prompts}, decodes), price({}, decodes));
  EXPECT_EQ(price({decodes}, prompts), price({}, prompts));
  const Seconds forked = price({}, decodes), as_prompts = price({}, prompts);
  execution.compressor_beside = 0;
  EXPECT_LT(forked, price({}, decodes));
  EXPECT_EQ(as_prompts, price({}, prompts));
}

// Prompts, decodes and both in turn, over one template.
TEST_F(StagePricerTest, SharedContextsEqualTheSumOverKernels) {
  model = load_model("deepseek-v3", {});
  const ParallelLayout layout{.tensor = 8, .decode_context = 8};
  GroupLinks links;
  links.ranks = links.ranks_per_node_max = links.ranks_per_node_min = 8;
  links.inside_bandwidth = BytesPerSecond(4e11);
  StagePricer pricer(model, layout, execution, 0, links, comm, *predictor);
  const auto expect_sum = [&](int decodes, std::int64_t prompt) {
    BatchShape shape{.tokens = 64, .logit_rows = 8};
    for (int i = 0; i < decodes; ++i) shape.attention.decode.add({1, 65'536});
    if (prompt > 0) shape.attention.prefill.add({prompt, prompt});
    EXPECT_NEAR(pricer.price(shape).time / plain_sum(layout, shape, links), 1.0, 1e-9)
        << decodes << " decodes, a prompt of " << prompt;
  };
  expect_sum(0, 64);
  expect_sum(8, 56);
  expect_sum(8, 0);
}

// Prompts before cached tokens, decodes and both in turn, over one template: kernels that only
// prompts launch have the prompts' rows, not the template's.
TEST_F(StagePricerTest, LatentPromptsEqualTheSumOverKernels) {
  model = load_model("deepseek-v3", {});
  for (const Framework framework : {Framework::trtllm, Framework::sglang}) {
    execution.implementation.framework = framework;
    StagePricer pricer(model, {}, execution, 0, GroupLinks{}, comm, *predictor);
    for (const auto& [decodes, prompt, cached] : std::vector<std::tuple<int, int, int>>{
             {0, 64, 0}, {8, 56, 9000}, {8, 0, 0}, {4, 60, 10}}) {
      BatchShape shape{.tokens = 64, .logit_rows = 8};
      for (int i = 0; i < decodes; ++i) shape.attention.decode.add({1, 4096});
      if (prompt > 0) shape.attention.prefill.add({prompt, prompt + cached});
      EXPECT_NEAR(pricer.price(shape).time / plain_sum({}, shape, GroupLinks{}), 1.0, 1e-9)
          << decodes << " decodes, a prompt of " << prompt << " behind " << cached;
    }
  }
}

// As many tokens of prompts that attend densely, of one that does not, and of both with decodes:
// templates of their own, and the latents of each step's contexts.
TEST_F(StagePricerTest, DensePromptsEqualTheSumOverKernels) {
  model = load_model("deepseek-v3.2", {});
  execution.implementation.framework = Framework::sglang;
  StagePricer pricer(model, {}, execution, 0, GroupLinks{}, comm, *predictor);
  const auto price = [&](const std::vector<SequenceSlice>& slices) {
    BatchShape shape{.tokens = 64, .logit_rows = 2, .attention = AttentionLoad::exact(slices)};
    const Seconds time = pricer.price(shape).time;
    EXPECT_NEAR(time / plain_sum({}, shape, GroupLinks{}), 1.0, 1e-9)
        << slices.front().query_tokens << " of " << slices.front().context_tokens;
    return time;
  };
  const Seconds dense = price({{32, 32}, {32, 32}});
  EXPECT_GT(price({{32, 1500}, {32, 1500}}), dense);
  price({{32, 4000}, {32, 32}});
  price(std::vector<SequenceSlice>(64, {1, 900}));
  EXPECT_EQ(price({{32, 32}, {32, 32}}), dense);
}

// More ranks that share long contexts shorten decodes, more groups that share prompts prefills.
TEST_F(StagePricerTest, SharingMoreNeverTakesLonger) {
  model = load_model("deepseek-v3", {});
  const auto time = [&](const ParallelLayout& layout, const BatchShape& shape) {
    GroupLinks links;
    links.inside_bandwidth = BytesPerSecond(4e11);
    const auto of = [&](int ranks) {
      GroupLinks own = links;
      own.ranks = own.ranks_per_node_max = own.ranks_per_node_min = ranks;
      return own;
    };
    StageLinks stage(of(layout.tensor), of(layout.stage_ranks()));
    stage.context = of(layout.decode_context);
    stage.prompts = of(layout.prefill_context);
    return StagePricer(model, layout, execution, 0, stage, comm, *predictor).price(shape).time;
  };
  BatchShape decodes{.tokens = 8, .logit_rows = 8};
  for (int i = 0; i < 8; ++i) decodes.attention.decode.add({1, 262'144});
  Seconds before = time({.tensor = 8}, decodes);
  for (const int context : {2, 4, 8}) {
    const Seconds own = time({.tensor = 8, .decode_context = context}, decodes);
    EXPECT_LT(own, before) << context;
    before = own;
  }
  before = time({.tensor = 8}, batch(65'536, 65'536));
  for (const int groups : {2, 4}) {
    const Seconds own = time({.tensor = 8, .prefill_context = groups}, batch(65'536, 65'536));
    EXPECT_LT(own, before) << groups;
    before = own;
  }
}

TEST_F(StagePricerTest, EqualsTheSumOverKernelsSeenAndUnseen) {
  GroupLinks links;
  StagePricer pricer(model, {}, execution, 0, links, comm, *predictor);
  for (const std::int64_t context : {100, 700, 4000}) {  // the same template, other attention
    const BatchShape shape = batch(100, context);
    EXPECT_NEAR(pricer.price(shape).time / plain_sum({}, shape, links), 1.0, 1e-12);
  }
}

TEST_F(StagePricerTest, PricesPrivateCollectivesAndLeavesSharedOnes) {
  ParallelLayout layout;
  layout.tensor = 2;
  GroupLinks links;
  links.ranks = links.ranks_per_node_max = links.ranks_per_node_min = 2;
  links.inside_latency = Seconds(2e-6);
  links.inside_bandwidth = BytesPerSecond(300e9);
  const BatchShape shape = batch(256, 256);
  StagePricer private_pricer(model, layout, execution, 0, links, comm, *predictor);
  const StagePrice with = private_pricer.price(shape);
  EXPECT_TRUE(with.shared.empty());
  EXPECT_NEAR(with.time / plain_sum(layout, shape, links), 1.0, 1e-12);

  links.is_private = false;
  StagePricer shared_pricer(model, layout, execution, 0, links, comm, *predictor);
  const StagePrice without = shared_pricer.price(shape);
  EXPECT_LT(without.time, with.time);
  int repeats = 0;
  for (const SharedCollective& collective : without.shared) {
    if (collective.call.op == CollectiveOp::all_reduce) repeats += collective.repeats;
  }
  EXPECT_EQ(repeats, 1 + 2 * model.layers);  // the embedding's, then two a layer
}

TEST_F(StagePricerTest, CountsTimeByFamilyAndLaunchesByOrigin) {
  StagePricer pricer(model, {}, execution, 0, GroupLinks{}, comm, *predictor);
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

// Two routings, one of which makes the experts' kernel dearer: each step costs one or the other,
// both come up, and the same seed gives the same steps.
TEST_F(StagePricerTest, DrawsARoutingForEachStep) {
  model = load_model("mixtral-8x7b", {});
  const auto price_of = [&](const Routing& routing) {
    ExecutionSettings settings = execution;
    settings.routing = routing;
    return StagePricer(model, {}, settings, 0, GroupLinks{}, comm, *predictor).price(batch(4, 4));
  };
  const Routing balanced, skewed{Routing::Kind::balancedness, 0.1, {}};
  const Seconds dear = price_of(balanced).time, cheap = price_of(skewed).time;
  EXPECT_GT(dear / cheap, 1.1);  // more experts' weights to read

  execution.routing_draw = {"two", {balanced, skewed}, 7};
  StagePricer one(model, {}, execution, 0, GroupLinks{}, comm, *predictor);
  StagePricer same(model, {}, execution, 0, GroupLinks{}, comm, *predictor);
  execution.routing_draw.seed = 8;
  StagePricer other(model, {}, execution, 0, GroupLinks{}, comm, *predictor);
  int dear_steps = 0;
  bool differs = false;
  for (int i = 0; i < 100; ++i) {
    const Seconds time = one.price(batch(4, 4)).time;
    EXPECT_TRUE(time == dear || time == cheap);
    dear_steps += time == dear ? 1 : 0;
    EXPECT_EQ(same.price(batch(4, 4)).time, time);
    differs |= other.price(batch(4, 4)).time != time;
  }
  EXPECT_GT(dear_steps, 30);
  EXPECT_LT(dear_steps, 70);
  EXPECT_TRUE(differs);
}

TEST_F(StagePricerTest, SendsHiddenStatesFromEveryStageButTheLast) {
  ParallelLayout layout;
  layout.pipeline = 2;
  StagePricer first(model, layout, execution, 0, GroupLinks{}, comm, *predictor);
  StagePricer last(model, layout, execution, 1, GroupLinks{}, comm, *predictor);
  // Hidden states and residual: 2 * 10 tokens * 4096 * 2 B.
  EXPECT_DOUBLE_EQ(first.price(batch(10, 10)).send_per_rank.value(), 163840.0);
  EXPECT_DOUBLE_EQ(last.price(batch(10, 10)).send_per_rank.value(), 0.0);
}

GroupLinks links_of(int ranks, double bandwidth) {
  GroupLinks links;
  links.ranks = links.ranks_per_node_max = links.ranks_per_node_min = ranks;
  links.inside_latency = Seconds(2e-6);
  links.inside_bandwidth = BytesPerSecond(bandwidth);
  return links;
}

class DataParallelPricerTest : public StagePricerTest {
 protected:
  DataParallelPricerTest() { model = load_model("mixtral-8x7b", {}); }

  /// By hand from the generator: the parts of the slowest rank, and what all do together.
  Seconds by_hand(std::span<const BatchShape> ranks) {
    BatchShape all;
    Seconds slowest;
    const StageProgram program(model, layout, execution, 0);
    for (const BatchShape& rank : ranks) {
      all.stage_tokens += std::max<std::int64_t>(rank.tokens, 1);
      all.stage_tokens_max = std::max(all.stage_tokens_max, rank.tokens);
      if (rank.tokens == 0) continue;
      slowest = std::max(slowest, sum(program.kernels(rank, StagePart::local)));
    }
    all.tokens = all.stage_tokens_max;
    return slowest + sum(program.kernels(all, StagePart::joint));
  }

  Seconds sum(const KernelSequence& kernels) {
    Seconds total;
    for (const KernelCall& call : kernels) {
      const auto* collective = std::get_if<Collective>(&call.kernel);
      const Seconds once = collective != nullptr
                               ? collective_time(call_of(*collective, comm), links, comm.parameters)
                               : predictor->predict(call.kernel).time;
      total += once * call.calls;
    }
    return total;
  }

  ParallelLayout layout{.expert = 4, .data_parallel_attention = 4};
  GroupLinks links = links_of(4, 300e9);
};

TEST_F(DataParallelPricerTest, TheSlowestAttentionRankDecides) {
  StagePricer pricer(model, layout, execution, 0, {GroupLinks{}, links}, comm, *predictor);
  // Most tokens, longest contexts and nothing at all on different ranks.
  const std::vector<BatchShape> ranks = {batch(300, 300), batch(20, 90000), batch(10, 500), {}};
  EXPECT_NEAR(pricer.price(ranks).time / by_hand(ranks), 1.0, 1e-12);
  const std::vector<BatchShape> prefill = {batch(300, 300), batch(20, 500), batch(10, 500), {}};
  EXPECT_NEAR(pricer.price(prefill).time / by_hand(prefill), 1.0, 1e-12);
  EXPECT_LT(pricer.price(prefill).time, pricer.price(ranks).time);
}

TEST_F(DataParallelPricerTest, TheRankWithThePopularExpertsDecidesToo) {
  const std::vector<BatchShape> ranks(4, batch(256, 256));
  StagePricer even(model, layout, execution, 0, {GroupLinks{}, links}, comm, *predictor);
  execution.routing = parse_routing("balancedness:0.8", {});
  StagePricer skewed(model, layout, execution, 0, {GroupLinks{}, links}, comm, *predictor);
  EXPECT_GT(skewed.price(ranks).time, 1.05 * even.price(ranks).time);
}

TEST_F(DataParallelPricerTest, SharedLinksAreLeftToThePlatformByGroup) {
  links.is_private = false;
  StagePricer pricer(model, layout, execution, 0, {GroupLinks{}, links}, comm, *predictor);
  const StagePrice price = pricer.price(std::vector<BatchShape>(4, batch(256, 256)));
  ASSERT_EQ(price.shared.size(), 2U);  // dispatch and combine of 32 layers
  for (const SharedCollective& collective : price.shared) {
    EXPECT_EQ(collective.call.op, CollectiveOp::all_to_all);
    EXPECT_EQ(collective.group, CommGroup::expert_parallel);
    EXPECT_EQ(collective.repeats, 32);
  }
}

TEST_F(DataParallelPricerTest, TwoBatchOverlapIsTheCriticalPathOfBothHalves) {
  links = links_of(4, 20e9);  // slow enough to matter
  const std::vector<BatchShape> ranks(4, batch(512, 512));
  StagePricer plain(model, layout, execution, 0, {GroupLinks{}, links}, comm, *predictor);
  execution.overlap = Overlap::two_batch;
  StagePricer overlapping(model, layout, execution, 0, {GroupLinks{}, links}, comm, *predictor);

  // Each half is a prompt's chunk of 256 tokens. Their segments by hand, from the generator.
  const StageProgram program(model, layout, execution, 0);
  const auto segments_of = [&](std::int64_t context) {
    BatchShape half = batch(256, context);
    half.logit_rows = context == 256 ? 1 : 0;
    half.stage_tokens = 4 * 256;
    half.stage_tokens_max = 256;
    std::vector<Seconds> segments(64);
    for (const KernelCall& call : program.kernels(half)) {
      segments[static_cast<std::size_t>(call.segment)] += sum({call});
    }
    return segments;
  };
  const Seconds path = BatchSchedule(program.blocks())
                           .critical_path(std::vector{segments_of(256), segments_of(512)});
  const StagePrice price = overlapping.price(ranks);
  EXPECT_NEAR(price.time / path, 1.0, 1e-12);
  EXPECT_LT(price.time, plain.price(ranks).time);
  EXPECT_FALSE(price.overlap.has_value()) << "private links need no simulation";
}

TEST_F(DataParallelPricerTest, OverlapOnSharedLinksStretchesWithThem) {
  links = links_of(4, 20e9);
  execution.overlap = Overlap::two_batch;
  const std::vector<BatchShape> ranks(4, batch(512, 512));
  StagePricer on_private(model, layout, execution, 0, {GroupLinks{}, links}, comm, *predictor);
  const Seconds known = on_private.price(ranks).time;
  links.is_private = false;
  StagePricer on_shared(model, layout, execution, 0, {GroupLinks{}, links}, comm, *predictor);
  const StagePrice price = on_shared.price(ranks);
  ASSERT_TRUE(price.overlap.has_value());
  EXPECT_NEAR(price.overlap->time(1) / known, 1.0, 1e-12);
  EXPECT_GT(price.overlap->time(3), price.overlap->time(1));
  EXPECT_GE(price.overlap->time(50), 50 * price.overlap->shared_time());
  Seconds transfers;
  for (const SharedCollective& collective : price.shared) {
    transfers += collective_time(collective.call, links, comm.parameters) * collective.repeats;
  }
  EXPECT_NEAR(price.overlap->shared_time() / transfers, 1.0, 1e-12);
}

// Latent attention: batches of as many tokens, with decodes, prompts or both, share everything but
// what follows the load. SGLang expands prompts by a product of its own.
TEST_F(StagePricerTest, UpProjectionsFollowTheDecodesOfEachStep) {
  model = load_model("deepseek-v2-lite", {});
  const BatchShape prompt = batch(8, 8);
  BatchShape decodes = prompt, both = prompt;
  decodes.attention = AttentionLoad::exact(std::vector<SequenceSlice>(8, {1, 100}));
  both.attention = AttentionLoad::exact({{5, 5}, {1, 100}, {1, 100}, {1, 100}});
  for (BatchShape* shape : {&decodes, &both}) shape->attention.sequences.clear();
  for (const Framework framework : {Framework::vllm, Framework::sglang}) {
    execution.implementation.framework = framework;
    StagePricer pricer(model, {}, execution, 0, GroupLinks{}, comm, *predictor);
    for (const BatchShape& shape : {prompt, decodes, both, prompt}) {
      EXPECT_NEAR(pricer.price(shape).time / plain_sum({}, shape, GroupLinks{}), 1.0, 1e-12)
          << enum_name(framework);
    }
  }
}

}  // namespace
}  // namespace foretoken
