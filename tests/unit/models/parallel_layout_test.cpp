// Layouts: which layers, heads and bytes a rank gets, and which layouts are refused and how.
#include "models/parallel_layout.hpp"

#include <gmock/gmock.h>

#include "models/sequence_memory.hpp"

namespace foretoken {
namespace {

using testing::ElementsAre;

Transformer model(const std::string& name) { return load_model(name, {}); }

std::vector<int> layer_counts(int layers, int pipeline) {
  Transformer toy;
  toy.layers = layers;
  const ParallelLayout layout{.pipeline = pipeline};
  std::vector<int> counts;
  int next = 0;
  for (int stage = 0; stage < pipeline; ++stage) {
    const LayerRange range = stage_layers(toy, layout, stage);
    EXPECT_EQ(range.first, next);
    next = range.end;
    counts.push_back(range.count());
  }
  EXPECT_EQ(next, layers);
  return counts;
}

TEST(StageLayers, EvenSplit) { EXPECT_THAT(layer_counts(32, 4), ElementsAre(8, 8, 8, 8)); }

// vLLM: base = layers / stages; partitions[-2], [-3] … get the remainder one each.
TEST(StageLayers, RemainderGoesToTheStagesBeforeTheLast) {
  EXPECT_THAT(layer_counts(94, 4), ElementsAre(23, 24, 24, 23));
  EXPECT_THAT(layer_counts(32, 3), ElementsAre(11, 11, 10));
  EXPECT_THAT(layer_counts(5, 2), ElementsAre(3, 2));
  EXPECT_THAT(layer_counts(94, 8), ElementsAre(11, 12, 12, 12, 12, 12, 12, 11));
  EXPECT_THAT(layer_counts(3, 3), ElementsAre(1, 1, 1));
}

TEST(Heads, ReplicateWhenTensorParallelExceedsThem) {
  const Transformer llama = model("llama-3.1-70b");
  EXPECT_EQ(query_heads_per_rank(llama.attention(0), {.tensor = 16}), 4);
  EXPECT_EQ(kv_heads_per_rank(llama.attention(0), {.tensor = 4}), 2);
  EXPECT_EQ(kv_heads_per_rank(llama.attention(0), {.tensor = 8}), 1);
  EXPECT_EQ(kv_heads_per_rank(llama.attention(0), {.tensor = 16}), 1);
}

TEST(Vocabulary, IsPaddedTo64) {
  Transformer toy;
  toy.vocabulary = 1000;
  EXPECT_EQ(padded_vocabulary(toy), 1024);
  toy.vocabulary = 1024;
  EXPECT_EQ(padded_vocabulary(toy), 1024);
}

TEST(Size, ProductsBeyond32BitsAreCountedRight) {
  EXPECT_EQ(size_problem({.tensor = 8, .pipeline = 61, .data_parallel_attention = 128}), "");
  EXPECT_EQ(size_problem({.tensor = 16, .data_parallel_attention = 4096}), "");
  for (const ParallelLayout& layout :
       {ParallelLayout{.tensor = 8, .data_parallel_attention = 1 << 29},
        ParallelLayout{.tensor = 1 << 30, .pipeline = 1 << 30, .data_parallel_attention = 1 << 30},
        ParallelLayout{.tensor = 2147483647}, ParallelLayout{.pipeline = 65'537}}) {
    EXPECT_THAT(size_problem(layout), testing::HasSubstr("more than the 65536 GPUs"));
  }
}

TEST(WeightBytes, OneRankHasAll) {
  EXPECT_EQ(weight_bytes_per_rank(model("llama-3.1-8b"), {}, 0, DType::bf16),
            Bytes(2.0 * 8'030'261'248));
}

// Linear layers: 32 x (4096 x 6144 + 4096 x 4096 + 3 x 4096 x 14336) = 6,979,321,856 at 1 B.
// The rest, 8,030,261,248 - 6,979,321,856 = 1,050,939,392, at 2 B.
TEST(WeightBytes, QuantisedFormatsHoldForLinearLayersOnly) {
  EXPECT_EQ(weight_bytes_per_rank(model("llama-3.1-8b"), {}, 0, DType::fp8),
            Bytes(6'979'321'856.0 + 2 * 1'050'939'392.0));
  // nvfp4: 0.5 + 1/16 B an element.
  EXPECT_EQ(weight_bytes_per_rank(model("llama-3.1-8b"), {}, 0, DType::nvfp4),
            Bytes(6'979'321'856.0 * 0.5625 + 2 * 1'050'939'392.0));
}

// Norms, 32 x 2 x 4096 + 4096 = 266,240, are on both ranks; the rest is halved:
// (8,030,261,248 - 266,240) / 2 + 266,240 = 4,015,263,744 parameters.
TEST(WeightBytes, TwoRanks) {
  EXPECT_EQ(weight_bytes_per_rank(model("llama-3.1-8b"), {.tensor = 2}, 0, DType::bf16),
            Bytes(2 * 4'015'263'744.0));
}

// A layer: qkv 8192 x (4 + 1 + 1) x 128 = 6,291,456 (the 8 KV heads are there twice);
// o 512 x 8192 = 4,194,304; MLP 3 x 8192 x 1792 = 44,040,192; norms 16,384: 54,542,336.
// 80 of them, the final norm 8,192 and 2 x 8192 x 128256 / 16 = 131,334,144: 4,494,729,216.
TEST(WeightBytes, KvHeadsReplicate) {
  EXPECT_EQ(weight_bytes_per_rank(model("llama-3.1-70b"), {.tensor = 16}, 0, DType::bf16),
            Bytes(2 * 4'494'729'216.0));
}

TEST(WeightBytes, ExpertParallelismMovesExpertsButNotBytes) {
  const Transformer moe = model("qwen3-30b-a3b");
  const Bytes cut = weight_bytes_per_rank(moe, {.tensor = 4}, 0, DType::bf16);
  EXPECT_EQ(weight_bytes_per_rank(moe, {.tensor = 4, .expert = 4}, 0, DType::bf16), cut);
  EXPECT_EQ(weight_bytes_per_rank(moe, {.tensor = 4, .expert = 2}, 0, DType::bf16), cut);
}

TEST(WeightBytes, CopiesOfExpertsAreHeldBesideThem) {
  // Mixtral's 32 layers hold 8 experts of three 4096 x 14336 matrices: 8 copies are as many again,
  // an eighth of them on each of 8 ranks.
  const Transformer moe = model("mixtral-8x7b");
  const ParallelLayout plain{.tensor = 8, .expert = 8};
  ParallelLayout copied = plain;
  copied.redundant_experts = 8;
  EXPECT_EQ(weight_bytes_per_rank(moe, copied, 0, DType::bf16) -
                weight_bytes_per_rank(moe, plain, 0, DType::bf16),
            Bytes(2.0 * 32 * 3 * 4096 * 14336));
}

TEST(WeightBytes, TiedEmbeddingIsCopiedToTheLastStage) {
  const Transformer tied = model("qwen3-0.6b");
  const ParallelLayout two{.pipeline = 2};
  const Bytes both = weight_bytes_per_rank(tied, two, 0, DType::bf16) +
                     weight_bytes_per_rank(tied, two, 1, DType::bf16);
  EXPECT_EQ(both, Bytes(2.0 * static_cast<double>(596'049'920 + 151'936 * 1'024)));
}

/// Parameters that every tensor-parallel rank has whole.
std::int64_t replicated_parameters(const Transformer& transformer) {
  std::int64_t sum = 0;
  const auto add = [&](const OperatorGraph& graph) {
    for (const Operator& op : graph) {
      if (op.shard == Shard::replicated) sum += op.parameters;
      const bool has_whole_bias = op.kind == OperatorKind::linear && op.shard == Shard::row;
      if (has_whole_bias && op.bias) sum += op.out_features;
    }
  };
  for (int layer = 0; layer < transformer.layers; ++layer) add(layer_graph(transformer, layer));
  add(output_graph(transformer));
  return sum;
}

// No rank lacks a weight, and none but the replicated ones is stored twice (where TP divides the KV
// heads; 64 divides every vocabulary).
TEST(WeightBytes, RanksTogetherHoldEachParameterOnce) {
  for (const std::string& name : model_names()) {
    const Transformer transformer = model(name);
    if (!transformer.kinds.empty()) continue;  // each kind has parts of its own that are whole
    for (const int tensor : {1, 2, 4}) {
      if (transformer.kv_heads % tensor != 0) continue;
      for (const int pipeline : {1, 2, 3, 5}) {
        const ParallelLayout layout{.tensor = tensor, .pipeline = pipeline};
        double stored = 0;
        for (int stage = 0; stage < pipeline; ++stage) {
          stored += weight_bytes_per_rank(transformer, layout, stage, DType::bf16).value() / 2;
        }
        std::int64_t expected = parameter_count(transformer) +
                                (tensor - 1) * replicated_parameters(transformer) +
                                transformer.encoder_weights() / tensor * tensor;
        if (transformer.tied_embeddings && pipeline > 1) {
          expected += transformer.vocabulary * transformer.hidden;
        }
        EXPECT_EQ(stored * tensor, static_cast<double>(expected))
            << name << " TP" << tensor << " PP" << pipeline;
      }
    }
  }
}

TEST(KvBytesPerRank, ByHand) {
  const Transformer llama = model("llama-3.1-70b");
  // 2 x 80 layers x 2 heads x 128 x 2 B
  EXPECT_EQ(kv_bytes_per_token_per_rank(llama, {.tensor = 4}, 0, DType::bf16), Bytes(81'920));
  // 2 x 80 x 1 x 128 x 2, at TP 8 and, replicated, at TP 16
  EXPECT_EQ(kv_bytes_per_token_per_rank(llama, {.tensor = 8}, 0, DType::bf16), Bytes(40'960));
  EXPECT_EQ(kv_bytes_per_token_per_rank(llama, {.tensor = 16}, 0, DType::bf16), Bytes(40'960));
  // 94 layers on 4 stages: 23, 24, 24, 23 of 2 x 4 x 128 x 1 B
  const ParallelLayout four{.pipeline = 4};
  EXPECT_EQ(kv_bytes_per_token_per_rank(model("qwen3-235b-a22b"), four, 0, DType::fp8),
            Bytes(23 * 1'024));
  EXPECT_EQ(kv_bytes_per_token_per_rank(model("qwen3-235b-a22b"), four, 1, DType::fp8),
            Bytes(24 * 1'024));
}

std::vector<std::string> problems(const std::string& name, const ParallelLayout& layout) {
  Diagnostics diagnostics;
  check_layout(model(name), layout, {"chat.toml", 7, 1}, diagnostics);
  try {
    diagnostics.throw_if_any();
  } catch (const ConfigError& error) {
    std::vector<std::string> messages;
    for (const Diagnostic& diagnostic : error.diagnostics()) {
      EXPECT_EQ(diagnostic.position.text(), "chat.toml:7:1");
      messages.push_back(diagnostic.message);
    }
    return messages;
  }
  return {};
}

TEST(CheckLayout, FittingLayouts) {
  EXPECT_THAT(problems("llama-3.1-8b", {}), testing::IsEmpty());
  EXPECT_THAT(problems("llama-3.1-70b", {.tensor = 16, .pipeline = 80}), testing::IsEmpty());
  EXPECT_THAT(problems("qwen3-30b-a3b", {.tensor = 8, .expert = 8}), testing::IsEmpty());
  EXPECT_THAT(problems("mixtral-8x7b", {.tensor = 8, .expert = 2}), testing::IsEmpty());
}

TEST(CheckLayout, SharedContexts) {
  EXPECT_THAT(problems("deepseek-v3", {.tensor = 8, .decode_context = 8}), testing::IsEmpty());
  EXPECT_THAT(problems("qwen3-235b-a22b", {.tensor = 8, .decode_context = 2}), testing::IsEmpty());
  EXPECT_THAT(
      problems("qwen3-235b-a22b", {.tensor = 8, .decode_context = 4}),
      ElementsAre("decode_context_parallel = 4 must divide the 2 rank(s) that hold the same "
                  "KV head of qwen3-235b-a22b with tensor_parallel = 8; use 1 or 2"));
  EXPECT_THAT(problems("llama-3.1-70b", {.tensor = 8, .decode_context = 2}),
              ElementsAre(testing::HasSubstr("raise tensor_parallel beyond its 8 KV heads")));
  EXPECT_THAT(problems("gpt-oss-20b", {.tensor = 8, .decode_context = 2}),
              ElementsAre(testing::HasSubstr("attend to every token")));
}

TEST(CheckLayout, SharedPrompts) {
  EXPECT_THAT(problems("llama-3.1-70b", {.tensor = 4, .prefill_context = 2}), testing::IsEmpty());
  EXPECT_THAT(
      problems("deepseek-v3", {.tensor = 2, .data_parallel_attention = 2, .prefill_context = 2}),
      ElementsAre(testing::HasSubstr("keep one of the two")));
  EXPECT_THAT(problems("gpt-oss-20b", {.prefill_context = 2}),
              ElementsAre(testing::HasSubstr("attend to every token")));
}

TEST(KvBytesPerRank, ContextsAreShared) {
  const ParallelLayout shared{.tensor = 8, .decode_context = 8};
  EXPECT_EQ(kv_bytes_per_token_per_rank(model("deepseek-v3"), shared, 0, DType::bf16),
            Bytes(61 * 576 * 2 / 8.0));
  EXPECT_EQ(sequence_memory_per_rank(model("deepseek-v3"), shared, 0, DType::bf16).per_token,
            Bytes(61 * 576 * 2 / 8.0));
}

TEST(CheckLayout, TensorParallel) {
  EXPECT_THAT(problems("llama-3.1-8b", {.tensor = 3}),
              ElementsAre("tensor_parallel = 3 does not divide the 32 query heads of llama-3.1-8b; "
                          "use 1, 2, 4, 8, 16 or 32"));
  EXPECT_THAT(problems("qwen2.5-14b", {.tensor = 5}),
              ElementsAre("tensor_parallel = 5 neither divides nor is a multiple of the 8 KV heads "
                          "of qwen2.5-14b; use 1, 2, 4 or 8"));
  // 13824 = 2^9 x 27
  EXPECT_THAT(problems("qwen2.5-14b", {.tensor = 40}),
              ElementsAre("tensor_parallel = 40 does not divide the MLP width 13824 of "
                          "qwen2.5-14b; use 1, 2, 4 or 8"));
}

TEST(CheckLayout, PipelineParallel) {
  EXPECT_THAT(problems("llama-3.1-8b", {.pipeline = 33}),
              ElementsAre("pipeline_parallel = 33 exceeds the 32 layers of llama-3.1-8b; use at "
                          "most 32"));
}

TEST(CheckLayout, ExpertParallel) {
  EXPECT_THAT(
      problems("llama-3.1-8b", {.tensor = 2, .expert = 2}),
      ElementsAre("expert_parallel = 2 needs experts, but there are none in llama-3.1-8b; use 1"));
  EXPECT_THAT(problems("mixtral-8x7b", {.tensor = 8, .expert = 3}),
              ElementsAre("expert_parallel = 3 does not divide the 8 experts of mixtral-8x7b; use "
                          "1, 2, 4 or 8"));
  EXPECT_THAT(
      problems("mixtral-8x7b", {.tensor = 8, .expert = 4, .redundant_experts = 1}),
      ElementsAre("expert_parallel = 4 does not divide the 8 experts and 1 redundant ones of "
                  "mixtral-8x7b; use 1"));
  EXPECT_THAT(problems("mixtral-8x7b", {.tensor = 8, .expert = 4, .redundant_experts = 4}),
              ElementsAre());
  EXPECT_THAT(problems("mixtral-8x7b", {.tensor = 2, .expert = 4}),
              ElementsAre("expert_parallel = 4 does not divide tensor_parallel = 2, whose ranks "
                          "hold the experts of mixtral-8x7b; use 1 or 2"));
}

TEST(CheckLayout, ExpertWidth) {
  Transformer odd = model("mixtral-8x7b");
  odd.name = "odd";
  odd.moe->intermediate = 14'338;  // 2 x 7169
  Diagnostics diagnostics;
  check_layout(odd, {.tensor = 4}, {}, diagnostics);
  try {
    diagnostics.throw_if_any();
    FAIL() << "no error";
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.diagnostics().front().message,
              "expert_parallel = 1 leaves 4 ranks to cut the width 14338 of each expert of odd; "
              "use 2 or 4");
  }
}

TEST(CheckLayout, SeveralProblemsAtOnce) {
  EXPECT_THAT(problems("llama-3.1-8b", {.tensor = 3, .pipeline = 40}), testing::SizeIs(2));
  EXPECT_THAT(problems("llama-3.1-8b", {.tensor = 0, .pipeline = -1}),
              ElementsAre("tensor_parallel = 0 must be at least 1",
                          "pipeline_parallel = -1 must be at least 1"));
}

/// Latent attention with 4 heads and 8 experts in layers 1 and 2; numbers that multiply easily.
Transformer latent_model() {
  Transformer model;
  model.name = "latent";
  model.layers = 3;
  model.hidden = 64;
  model.intermediate = 128;
  model.query_heads = model.kv_heads = 4;
  model.head_dim = 12;
  model.vocabulary = 640;
  model.mla = MlaConfig{.kv_rank = 16, .nope_dim = 8, .rope_dim = 4, .value_dim = 6};
  model.moe = MoeConfig{
      .experts = 8, .topk = 2, .intermediate = 32, .shared_intermediate = 48, .dense_layers = 1};
  return model;
}

// Each of 4 attention ranks, in bf16. A layer's attention: q_proj 64 x 48 = 3072, kv_a 64 x 20 =
// 1280, its norm 16, up-projections 4 x 16 x (8 + 6) = 896, o_proj 24 x 64 = 1536, norms 128: 6928.
// Dense MLP 3 x 64 x 128 = 24576. MoE layer: shared 3 x 64 x 48 = 9216 whole, router 512, two of
// the eight experts 2 x 3 x 64 x 32 = 12288. Embedding and head 2 x 40960, final norm 64.
TEST(DataParallelAttention, EveryRankHasAllButTheExperts) {
  const std::int64_t parameters = 3 * 6928 + 24576 + 2 * (9216 + 512 + 12288) + 2 * 40960 + 64;
  const ParallelLayout layout{.expert = 4, .data_parallel_attention = 4};
  EXPECT_EQ(weight_bytes_per_rank(latent_model(), layout, 0, DType::bf16),
            Bytes(2.0 * static_cast<double>(parameters)));
  EXPECT_EQ(layout.ranks(), 4);
}

// Two groups of two ranks: attention and dense MLP are cut in two, the shared expert is whole.
TEST(DataParallelAttention, GroupsCutAttentionButNotTheSharedExpert) {
  // q_proj 64 x 24, kv_a whole, norm whole, up-projections and o_proj halved.
  const std::int64_t attention = 1536 + 1280 + 16 + 448 + 768 + 128;
  const std::int64_t parameters = 3 * attention + 12288 + 2 * (9216 + 512 + 12288) + 2 * 20480 + 64;
  EXPECT_EQ(
      weight_bytes_per_rank(
          latent_model(), {.tensor = 2, .expert = 4, .data_parallel_attention = 2}, 0, DType::bf16),
      Bytes(2.0 * static_cast<double>(parameters)));
}

// In fp8 the up-projections (3 layers x 896) are there twice: in fp8 and in bf16.
TEST(WeightBytes, FormatsMixAndUpProjectionsAreKeptTwice) {
  const double linear = 3 * (3072 + 1280 + 1536) + 24576 + 2 * 9216;
  const double experts = 2 * 8 * 3 * 64 * 32;
  const double plain = 3 * (16 + 128) + 2 * 512 + 2 * 40960 + 64;
  const double up = 3 * 896;
  EXPECT_EQ(weight_bytes_per_rank(latent_model(), {}, 0, {DType::fp8_block, DType::mxfp4}),
            Bytes(linear + experts * (0.5 + 1.0 / 32) + 2 * plain + 3 * up));
}

TEST(KvBytes, TheLatentIsOnEveryRank) {
  for (const int tensor : {1, 2, 4}) {
    // 3 layers x (16 + 4) x 2 B
    EXPECT_EQ(kv_bytes_per_token_per_rank(latent_model(), {.tensor = tensor}, 0, DType::bf16),
              Bytes(120));
  }
}

TEST(CheckLayout, DataParallelAttentionNeedsExpertsAndSpreadsThem) {
  EXPECT_THAT(problems("llama-3.1-8b", {.data_parallel_attention = 4}),
              ElementsAre("data_parallel_attention = 4 needs experts to share, but there are none "
                          "in llama-3.1-8b; use replicas = 4"));
  EXPECT_THAT(problems("deepseek-v3", {.expert = 32, .data_parallel_attention = 32}),
              testing::IsEmpty());
  EXPECT_THAT(
      problems("deepseek-v3", {.tensor = 2, .expert = 32, .data_parallel_attention = 8}),
      ElementsAre("expert_parallel = 32 does not divide tensor_parallel x "
                  "data_parallel_attention = 16, whose ranks hold the experts of deepseek-v3; use "
                  "1, 2, 4, 8 or 16"));
  EXPECT_THAT(problems("deepseek-v3", {.data_parallel_attention = 0}),
              ElementsAre("data_parallel_attention = 0 must be at least 1"));
}

}  // namespace
}  // namespace foretoken
