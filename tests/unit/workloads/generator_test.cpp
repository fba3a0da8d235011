// The kernels of a stage: their order, one rank's shapes worked out by hand, and sums that hold for
// every model.
#include <map>

#include "tests/unit/workloads/generator_fixture.hpp"

namespace foretoken {
namespace {

using testing::ElementsAre;

TEST(Generate, DenseModelOnOneRank) {
  const KernelSequence sequence = generate(model("llama-3.1-8b"), {}, {}, batch_of_100(), 0);
  EXPECT_THAT(roles(sequence),
              ElementsAre("embedding x1", "input_norm x1", "input_norm x31", "qkv_proj x32",
                          "rope x32", "kv_write x32", "attention x32", "o_proj x32",
                          "post_attention_norm x32", "gate_up_proj x32", "activation x32",
                          "down_proj x32", "final_norm x1", "lm_head x1", "sampling x1"));
  EXPECT_EQ(kernel<Embedding>(sequence, "embedding"), (Embedding{100, 4096}));
  EXPECT_EQ(sequence[1].kernel, handed_on(RmsNorm{100, 4096}));
  EXPECT_EQ(sequence[2].kernel, handed_on(FusedAddRmsNorm{100, 4096}));
  // (32 + 2 x 8) heads x 128
  EXPECT_EQ(kernel<Gemm>(sequence, "qkv_proj"), (Gemm{100, 6144, 4096}));
  EXPECT_EQ(kernel<Rope>(sequence, "rope"), (Rope{100, 40, 128}));
  EXPECT_EQ(kernel<KvWrite>(sequence, "kv_write"), (KvWrite{100, 8, 128}));
  EXPECT_EQ(
      kernel<Attention>(sequence, "attention"),
      (Attention{
          .query_heads = 32, .kv_heads = 8, .head_dim = 128, .load = batch_of_100().attention}));
  EXPECT_EQ(kernel<Gemm>(sequence, "o_proj"), (Gemm{100, 4096, 4096}));
  EXPECT_EQ(kernel<FusedAddRmsNorm>(sequence, "post_attention_norm"), (FusedAddRmsNorm{100, 4096}));
  EXPECT_EQ(kernel<Gemm>(sequence, "gate_up_proj"), (Gemm{100, 28672, 4096}));
  EXPECT_EQ(kernel<SiluAndMul>(sequence, "activation"), (SiluAndMul{100, 14336}));
  EXPECT_EQ(kernel<Gemm>(sequence, "down_proj"), (Gemm{100, 4096, 14336}));
  EXPECT_EQ(kernel<FusedAddRmsNorm>(sequence, "final_norm"), (FusedAddRmsNorm{100, 4096}));
  EXPECT_EQ(kernel<Gemm>(sequence, "lm_head"), (Gemm{4, 128256, 4096}));
  EXPECT_EQ(kernel<Sampling>(sequence, "sampling"), (Sampling{4, 128256, SamplingMethod::greedy}));
}

// Of 13 rows 9 judge drafts of 3 sequences: vLLM samples the 4 others, SGLang, which draws, the one
// that has no drafts; who compares tokens samples all.
TEST(Generate, DraftsAreJudgedByRowsOfTheirOwn) {
  BatchShape batch = batch_of_100();
  batch.logit_rows = 13;
  batch.draft_rows = 9;
  batch.verifying = 3;
  const auto rows_of = [&](Framework framework, SamplingMethod method) {
    const ExecutionSettings settings{.sampling = method,
                                     .implementation = {.framework = framework}};
    const KernelSequence sequence = generate(model("llama-3.1-8b"), {}, settings, batch, 0);
    const auto& sampled = std::get<Sampling>(find(sequence, "sampling").kernel);
    EXPECT_EQ(std::get<Gemm>(find(sequence, "lm_head").kernel).m, 13);
    if (!contains(sequence, "draft_verification")) return std::pair(sampled.rows, std::int64_t{0});
    const auto& judged = std::get<DraftVerification>(find(sequence, "draft_verification").kernel);
    EXPECT_EQ(judged.sequences, 3);
    EXPECT_EQ(judged.vocabulary, 128256);
    EXPECT_EQ(judged.method, method);
    return std::pair(sampled.rows, judged.rows);
  };
  using Rows = std::pair<std::int64_t, std::int64_t>;
  for (const auto method : {SamplingMethod::greedy, SamplingMethod::top_p}) {
    EXPECT_EQ(rows_of(Framework::vllm, method), Rows(4, 9));
    EXPECT_EQ(rows_of(Framework::trtllm, method), Rows(13, 0));
  }
  EXPECT_EQ(rows_of(Framework::sglang, SamplingMethod::top_p), Rows(1, 12));
  EXPECT_EQ(rows_of(Framework::sglang, SamplingMethod::greedy), Rows(13, 0));
}

TEST(Generate, TensorRtLlmsAttentionRotatesAndWritesTheCache) {
  const ExecutionSettings settings{.implementation = {.framework = Framework::trtllm}};
  const auto roles_of = [&](const char* name) {
    std::string joined;
    for (const auto& call : generate(model(name), {}, settings, batch_of_100(), 0)) {
      joined += fmt::format("{} ", call.role);
    }
    return joined;
  };
  EXPECT_EQ(roles_of("llama-3.1-8b").find("rope"), std::string::npos);
  EXPECT_EQ(roles_of("llama-3.1-8b").find("kv_write"), std::string::npos);
  EXPECT_NE(roles_of("deepseek-v3").find("kv_write"), std::string::npos);
}

// 64 KiB are 8 rows of 4,096 numbers of 16 bits: the sum of so many takes the norm behind it along.
TEST(Generate, SumsTakeTheNormBehindThemAlong) {
  ExecutionSettings settings;
  settings.fused_all_reduce = Bytes(65536);
  const auto norms = [&](const std::string& name, const ParallelLayout& layout,
                         std::int64_t tokens) {
    BatchShape batch = batch_of_100();
    batch.tokens = tokens;
    std::int64_t count = 0;
    for (const auto& call : generate(model(name), layout, settings, batch, 0)) {
      if (std::holds_alternative<FusedAddRmsNorm>(call.kernel)) count += call.calls;
    }
    return count;
  };
  EXPECT_EQ(norms("llama-3.1-8b", {.tensor = 2}, 8), 0);
  EXPECT_EQ(norms("llama-3.1-8b", {.tensor = 2}, 9), 64);  // 31 + 32 + the last
  EXPECT_EQ(norms("llama-3.1-8b", {}, 8), 64);             // nothing is summed
  settings.fused_all_reduce = Bytes(0);
  EXPECT_EQ(norms("llama-3.1-8b", {.tensor = 2}, 8), 64);
  // Experts that exchange tokens between attention ranks leave no sum.
  settings.fused_all_reduce = Bytes(1e9);
  EXPECT_EQ(norms("deepseek-v2-lite", {.tensor = 2}, 8), 0);
  EXPECT_GT(norms("deepseek-v2-lite", {.tensor = 2, .expert = 4, .data_parallel_attention = 2}, 8),
            0);
}

TEST(Generate, DenseModelOnTwoRanks) {
  const KernelSequence sequence =
      generate(model("llama-3.1-8b"), {.tensor = 2}, {}, batch_of_100(), 0);
  EXPECT_THAT(
      roles(sequence),
      ElementsAre("embedding x1", "embedding_all_reduce x1", "input_norm x1", "input_norm x31",
                  "qkv_proj x32", "rope x32", "kv_write x32", "attention x32", "o_proj x32",
                  "attention_all_reduce x32", "post_attention_norm x32", "gate_up_proj x32",
                  "activation x32", "down_proj x32", "mlp_all_reduce x32", "final_norm x1",
                  "lm_head x1", "logits_all_gather x1", "sampling x1"));
  // (16 + 2 x 4) x 128
  EXPECT_EQ(kernel<Gemm>(sequence, "qkv_proj"), (Gemm{100, 3072, 4096}));
  EXPECT_EQ(kernel<Gemm>(sequence, "o_proj"), (Gemm{100, 4096, 2048}));
  EXPECT_EQ(kernel<Gemm>(sequence, "gate_up_proj"), (Gemm{100, 14336, 4096}));
  EXPECT_EQ(kernel<SiluAndMul>(sequence, "activation"), (SiluAndMul{100, 7168}));
  EXPECT_EQ(kernel<Gemm>(sequence, "down_proj"), (Gemm{100, 4096, 7168}));
  EXPECT_EQ(kernel<Gemm>(sequence, "lm_head"), (Gemm{4, 64128, 4096}));
  EXPECT_EQ(kernel<Sampling>(sequence, "sampling"), (Sampling{4, 128256, SamplingMethod::greedy}));
  // 100 x 4096 x 2 B
  const Collective all_reduce = tensor_collective(CollectiveOp::all_reduce, 2, 819'200);
  EXPECT_EQ(kernel<Collective>(sequence, "embedding_all_reduce"), all_reduce);
  EXPECT_EQ(kernel<Collective>(sequence, "attention_all_reduce"), all_reduce);
  EXPECT_EQ(kernel<Collective>(sequence, "mlp_all_reduce"), all_reduce);
  // 4 x 128256 x 2 B
  EXPECT_EQ(kernel<Collective>(sequence, "logits_all_gather"),
            tensor_collective(CollectiveOp::all_gather, 2, 1'026'048));
}

TEST(Generate, KvHeadsAreCutAndThenReplicated) {
  const Transformer llama = model("llama-3.1-70b");
  const KernelSequence four = generate(llama, {.tensor = 4}, {}, batch_of_100(), 0);
  // (16 + 2 x 2) x 128
  EXPECT_EQ(kernel<Gemm>(four, "qkv_proj"), (Gemm{100, 2560, 8192}));
  EXPECT_EQ(kernel<Attention>(four, "attention").kv_heads, 2);
  const KernelSequence sixteen = generate(llama, {.tensor = 16}, {}, batch_of_100(), 0);
  // (4 + 2 x 1) x 128: half of the 8 KV heads' copies are duplicates
  EXPECT_EQ(kernel<Gemm>(sixteen, "qkv_proj"), (Gemm{100, 768, 8192}));
  EXPECT_EQ(kernel<Attention>(sixteen, "attention").query_heads, 4);
  EXPECT_EQ(kernel<Attention>(sixteen, "attention").kv_heads, 1);
  EXPECT_EQ(kernel<KvWrite>(sixteen, "kv_write"), (KvWrite{100, 1, 128}));
  EXPECT_EQ(kernel<Gemm>(sixteen, "o_proj"), (Gemm{100, 8192, 512}));
}

TEST(Generate, ExpertsOverFourRanks) {
  const Routing skewed{.kind = Routing::Kind::power_law, .parameter = 1.2, .counts = {}};
  const KernelSequence sequence = generate(model("qwen3-30b-a3b"), {.tensor = 4, .expert = 4},
                                           {.routing = skewed}, batch_of_100(), 0);
  EXPECT_THAT(
      roles(sequence),
      ElementsAre("embedding x1", "embedding_all_reduce x1", "input_norm x1", "input_norm x47",
                  "qkv_proj x48", "qk_norm x48", "rope x48", "kv_write x48", "attention x48",
                  "o_proj x48", "attention_all_reduce x48", "post_attention_norm x48", "router x48",
                  "topk_routing x48", "experts x48", "moe_all_reduce x48", "final_norm x1",
                  "lm_head x1", "logits_all_gather x1", "sampling x1"));
  // 32 / 4 query heads and 4 / 4 KV heads
  EXPECT_EQ(kernel<QkNorm>(sequence, "qk_norm"), (QkNorm{100, 9, 128}));
  // The router is whole on every rank.
  EXPECT_EQ(kernel<Gemm>(sequence, "router"), (Gemm{100, 128, 2048}));
  EXPECT_EQ(kernel<TopKRouting>(sequence, "topk_routing"), (TopKRouting{100, 128, 8}));
  EXPECT_EQ(kernel<FusedMoe>(sequence, "experts"),
            (FusedMoe{100, 128, 8, 2048, 768, DType::bf16, /*tp=*/1, /*ep=*/4, skewed}));
  EXPECT_EQ(kernel<Collective>(sequence, "moe_all_reduce"),
            tensor_collective(CollectiveOp::all_reduce, 4, 100 * 2048 * 2));
}

TEST(Generate, ExpertsCutByWhatExpertParallelismLeaves) {
  const KernelSequence cut = generate(model("mixtral-8x7b"), {.tensor = 2}, {}, batch_of_100(), 0);
  EXPECT_EQ(kernel<FusedMoe>(cut, "experts"),
            (FusedMoe{100, 8, 2, 4096, 14336, DType::bf16, /*tp=*/2, /*ep=*/1, {}}));
  const KernelSequence both =
      generate(model("mixtral-8x7b"), {.tensor = 8, .expert = 4}, {}, batch_of_100(), 0);
  EXPECT_EQ(kernel<FusedMoe>(both, "experts").tp, 2);
  EXPECT_EQ(kernel<FusedMoe>(both, "experts").ep, 4);
}

TEST(Generate, QuantisationLeavesRouterHeadAndActivationsIn16Bit) {
  const KernelSequence sequence = generate(
      model("qwen3-30b-a3b"), {}, {.dtype = DType::fp8, .kv_dtype = DType::fp8}, batch_of_100(), 0);
  EXPECT_EQ(kernel<Gemm>(sequence, "qkv_proj").dtype, DType::fp8);
  EXPECT_EQ(kernel<Gemm>(sequence, "o_proj").dtype, DType::fp8);
  EXPECT_EQ(kernel<FusedMoe>(sequence, "experts").dtype, DType::fp8);
  EXPECT_EQ(kernel<Gemm>(sequence, "router").dtype, DType::bf16);
  EXPECT_EQ(kernel<Gemm>(sequence, "lm_head").dtype, DType::bf16);
  EXPECT_EQ(kernel<KvWrite>(sequence, "kv_write"), (KvWrite{100, 4, 128, DType::bf16, DType::fp8}));
  EXPECT_EQ(kernel<Attention>(sequence, "attention").dtype, DType::bf16);
  EXPECT_EQ(kernel<Attention>(sequence, "attention").kv_dtype, DType::fp8);
}

TEST(Generate, NormOverAllHeadsGathersThemFirst) {
  const KernelSequence sequence =
      generate(model("olmoe-1b-7b"), {.tensor = 2}, {}, batch_of_100(), 0);
  // 100 x 16 heads x 128 x 2 B, for the queries and again for the keys
  const Kernel gather = tensor_collective(CollectiveOp::all_gather, 2, 409'600);
  const auto at = std::ranges::find(sequence, "q_norm", &KernelCall::role);
  EXPECT_EQ((at - 1)->kernel, gather);
  EXPECT_EQ(at->kernel, handed_on(RmsNorm{100, 2048}));
  EXPECT_EQ((at + 1)->kernel, gather);
  EXPECT_EQ((at + 2)->kernel, handed_on(RmsNorm{100, 2048}));
  EXPECT_EQ((at + 2)->role, "k_norm");
}

TEST(Generate, FirstOfTwoStages) {
  const KernelSequence sequence =
      generate(model("llama-3.1-8b"), {.tensor = 2, .pipeline = 2}, {}, batch_of_100(), 0);
  EXPECT_EQ(sequence.front().role, "embedding");
  EXPECT_EQ(find(sequence, "attention").calls, 16);
  EXPECT_FALSE(contains(sequence, "final_norm"));
  EXPECT_FALSE(contains(sequence, "lm_head"));
  EXPECT_EQ(sequence.back().role, "pipeline_send");
  // Hidden states and residual, 2 x 100 x 4096 x 2 B, half of it from each rank.
  EXPECT_EQ(sequence.back().kernel,
            Kernel(Collective{CollectiveOp::send_recv, CommGroup::next_stage, 2, 819'200}));
}

TEST(Generate, LastOfTwoStages) {
  const KernelSequence sequence =
      generate(model("llama-3.1-8b"), {.tensor = 2, .pipeline = 2}, {}, batch_of_100(), 1);
  EXPECT_EQ(sequence.front().role, "pipeline_all_gather");
  EXPECT_EQ(sequence.front().kernel,
            Kernel(tensor_collective(CollectiveOp::all_gather, 2, 1'638'400)));
  // The residual came along: every norm adds.
  EXPECT_EQ(sequence[1].role, "input_norm");
  EXPECT_EQ(sequence[1].calls, 16);
  EXPECT_EQ(sequence[1].kernel, handed_on(FusedAddRmsNorm{100, 4096}));
  EXPECT_EQ(sequence.back().role, "sampling");
}

TEST(Generate, OneRankAStageGathersNothing) {
  const KernelSequence sequence =
      generate(model("llama-3.1-8b"), {.pipeline = 2}, {}, batch_of_100(), 1);
  EXPECT_EQ(sequence.front().role, "input_norm");
}

TEST(Generate, LayersFoldByWindowAndByExperts) {
  Transformer mixed = model("llama-3.1-8b");
  mixed.layers = 6;
  mixed.moe = MoeConfig{
      .experts = 8, .topk = 2, .intermediate = 512, .shared_intermediate = 256, .dense_layers = 1};
  mixed.window_pattern = {4096, 0};
  // Layer 0: window, dense. 1, 3, 5: full, experts. 2, 4: window, experts.
  std::vector<std::string> attentions;
  const KernelSequence sequence = generate(mixed, {.tensor = 2}, {}, batch_of_100(), 0);
  for (const KernelCall& call : sequence) {
    if (call.role != "attention") continue;
    attentions.push_back(
        fmt::format("window {} x{}", std::get<Attention>(call.kernel).window, call.calls));
  }
  EXPECT_THAT(attentions, ElementsAre("window 4096 x1", "window 0 x3", "window 4096 x2"));
  EXPECT_EQ(find(sequence, "input_norm").kernel, handed_on(RmsNorm{100, 4096}));
  EXPECT_EQ(find(sequence, "input_norm").calls, 1);
  EXPECT_EQ(find(sequence, "gate_up_proj").calls, 1);
  EXPECT_EQ(kernel<Gemm>(sequence, "shared_down_proj"), (Gemm{100, 4096, 128}));
  const auto down = std::ranges::find(sequence, "shared_down_proj", &KernelCall::role);
  EXPECT_EQ((down + 1)->role, "router") << "the shared expert's sum is reduced with the others'";
  EXPECT_EQ(kernel<SiluAndMul>(sequence, "expert_sum"), (SiluAndMul{100, 4096}));
  EXPECT_EQ(find(sequence, "expert_sum").calls, find(sequence, "experts").calls);
}

// Qwen's shared experts have a gate of one number a token, whose product is a launch of its own.
TEST(Generate, AGateOfSharedExpertsIsAProductAndALaunch) {
  Transformer gated = model("mixtral-8x7b");
  gated.moe->shared_intermediate = 1024;
  EXPECT_EQ(std::ranges::count(generate(gated, {}, {}, batch_of_100(), 0), "shared_gating",
                               &KernelCall::role),
            0);
  gated.moe->shared_gate = true;
  const KernelSequence sequence = generate(gated, {.tensor = 2}, {}, batch_of_100(), 0);
  EXPECT_EQ(kernel<Gemm>(sequence, "shared_expert_gate"), (Gemm{100, 1, 4096}));
  EXPECT_EQ(kernel<SiluAndMul>(sequence, "shared_gating"), (SiluAndMul{100, 4096}));
}

TEST(Generate, NoLogitsNoHead) {
  BatchShape batch = batch_of_100();
  batch.logit_rows = 0;
  const KernelSequence sequence = generate(model("llama-3.1-8b"), {.tensor = 2}, {}, batch, 0);
  EXPECT_EQ(sequence.back().role, "final_norm");
}

TEST(Generate, EmptyBatchAndUnknownStageAreBugs) {
  EXPECT_THROW(generate(model("llama-3.1-8b"), {}, {}, {}, 0), InternalError);
  EXPECT_THROW(generate(model("llama-3.1-8b"), {}, {}, batch_of_100(), 1), InternalError);
}

TEST(StageProgram, ServesOneBatchAfterAnother) {
  const Transformer llama = model("llama-3.1-8b");
  const StageProgram program(llama, {}, {}, 0);
  BatchShape other{.tokens = 7, .logit_rows = 7, .attention = AttentionLoad::exact({{7, 7}})};
  EXPECT_EQ(kernel<Gemm>(program.kernels(batch_of_100()), "qkv_proj").m, 100);
  const KernelSequence again = program.kernels(other);
  EXPECT_EQ(kernel<Gemm>(again, "qkv_proj").m, 7);
  EXPECT_EQ(kernel<Gemm>(again, "lm_head").m, 7);
  EXPECT_EQ(kernel<Attention>(again, "attention").load, other.attention);
}

/// Multiply-adds of a sequence's matrix products on one rank, the routed experts' tokens evenly
/// spread.
double multiply_adds(const KernelSequence& sequence) {
  double sum = 0;
  for (const KernelCall& call : sequence) {
    double once = 0;
    if (const auto* gemm = std::get_if<Gemm>(&call.kernel)) {
      once = static_cast<double>(gemm->m) * static_cast<double>(gemm->n) *
             static_cast<double>(gemm->k);
    } else if (const auto* batched = std::get_if<BatchedGemm>(&call.kernel)) {
      once = static_cast<double>(batched->batch * batched->m * batched->n * batched->k);
    } else if (const auto* moe = std::get_if<FusedMoe>(&call.kernel)) {
      once = static_cast<double>(moe->tokens * moe->topk) * 3.0 * static_cast<double>(moe->hidden) *
             static_cast<double>(moe->intermediate) / (moe->tp * moe->ep);
    }
    sum += once * call.calls;
  }
  return sum;
}

/// Active parameters that are no matrix a token is multiplied with: the embedding (unless it is
/// the LM head too), norms and biases.
std::int64_t unmultiplied_parameters(const Transformer& m) {
  const std::int64_t heads = m.query_heads + m.kv_heads;
  std::int64_t layer = 2 * m.hidden;
  if (m.qk_norm) layer += std::int64_t{2} * m.head_dim;
  if (m.qk_norm_full) layer += heads * m.head_dim;
  if (m.qkv_bias) layer += (heads + m.kv_heads) * m.head_dim;
  if (m.output_bias) layer += m.hidden;
  if (m.attention_sinks) layer += m.query_heads;
  if (m.post_norms) layer += 2 * m.hidden;
  if (m.mla) layer += m.mla->query_rank + m.mla->kv_rank;
  std::int64_t experts = 0;  // of a layer that has some
  if (m.moe && m.moe->router_bias) experts += m.moe->experts;
  if (m.moe && m.moe->expert_bias) experts += m.moe->topk * (2 * m.moe->intermediate + m.hidden);
  const int moe_layers = m.moe ? m.layers - m.moe->dense_layers : 0;
  return m.layers * layer + moe_layers * experts + m.hidden +
         (m.tied_embeddings ? 0 : m.vocabulary * m.hidden);
}

/// Weights that every rank has whole: routers, and the down-projections to latents.
std::int64_t replicated_weights(const Transformer& m) {
  std::int64_t sum = 0;
  for (int layer = 0; layer < m.layers; ++layer) {
    if (m.is_moe_layer(layer)) sum += m.hidden * m.moe->experts;
  }
  if (m.mla) {
    sum +=
        m.layers * m.hidden * (std::int64_t{m.mla->query_rank} + m.mla->kv_rank + m.mla->rope_dim);
  }
  return sum;
}

// What is counted is what is priced: a token that gets logits is multiplied once with every active
// weight, however the weights are spread (those that are whole on every rank are computed TP
// times). Latent attention's up-projections are met by decodes.
TEST(Generate, MatrixProductsEqualTheActiveParameters) {
  const BatchShape batch{
      .tokens = 10,
      .logit_rows = 10,
      .attention = AttentionLoad::exact(std::vector<SequenceSlice>(10, {1, 100}))};
  for (const std::string& name : model_names()) {
    const Transformer transformer = model(name);
    if (transformer.kv_heads < 4) continue;    // replicated KV heads are computed several times
    if (!transformer.kinds.empty()) continue;  // generator_hybrid_test.cpp
    const std::int64_t weights =
        active_parameter_count(transformer) - unmultiplied_parameters(transformer);
    for (const ParallelLayout layout :
         {ParallelLayout{}, {.tensor = 2}, {.tensor = 4, .pipeline = 3}}) {
      double sum = 0;
      for (int stage = 0; stage < layout.pipeline; ++stage) {
        sum += layout.tensor * multiply_adds(generate(transformer, layout, {}, batch, stage));
      }
      const std::int64_t expected =
          10 * (weights + (layout.tensor - 1) * replicated_weights(transformer));
      EXPECT_EQ(sum, static_cast<double>(expected)) << name << " TP" << layout.tensor;
    }
  }
}

TEST(Generate, CallsAddUpToTheLayers) {
  for (const std::string& name : model_names()) {
    const Transformer transformer = model(name);
    if (!transformer.kinds.empty()) continue;
    for (const int pipeline : {1, 2, 3, 4}) {
      const ParallelLayout layout{.tensor = 2, .pipeline = pipeline};
      std::map<std::string_view, int> calls;
      for (int stage = 0; stage < pipeline; ++stage) {
        for (const KernelCall& call : generate(transformer, layout, {}, batch_of_100(), stage)) {
          calls[call.role] += call.calls;
        }
      }
      for (const char* role : {"input_norm", "rope", "kv_write", "attention", "o_proj",
                               "attention_all_reduce", "post_attention_norm"}) {
        EXPECT_EQ(calls[role], transformer.layers) << name << " PP" << pipeline << " " << role;
      }
      const bool is_lite = transformer.mla && transformer.mla->query_rank == 0;
      const char* first = is_lite ? "q_proj" : transformer.mla ? "qkv_a_proj" : "qkv_proj";
      EXPECT_EQ(calls[first], transformer.layers) << name;
      EXPECT_EQ(calls["mlp_all_reduce"] + calls["moe_all_reduce"], transformer.layers) << name;
      EXPECT_EQ(calls["pipeline_send"], pipeline - 1);
      EXPECT_EQ(calls["pipeline_all_gather"], pipeline - 1);
    }
  }
}

// Half of each product on a rank: whole weights down to the rank for what is cut by columns, up
// from it for what is cut by rows. An adapter of rank 16 has 41,943,040 parameters in all (PEFT).
TEST(Generate, AdaptersAddTwoProductsToEachTarget) {
  ExecutionSettings settings;
  settings.lora = LoraSettings{.adapters_max = 8, .rank = 16};
  BatchShape batch = batch_of_100();
  batch.adapters = 3;
  batch.adapted_tokens = 60;
  std::vector<std::string> products;
  for (const KernelCall& call :
       generate(model("llama-3.1-8b"), {.tensor = 2}, settings, batch, 0)) {
    if (const auto* product = std::get_if<LowRank>(&call.kernel)) {
      EXPECT_EQ(product->tokens, 60);
      EXPECT_EQ(product->adapters, 3);
      products.push_back(fmt::format("{} to {} x{}", product->in, product->out, call.calls));
    }
  }
  EXPECT_THAT(products,
              ElementsAre("4096 to 48 x32", "16 to 3072 x32", "2048 to 16 x32", "16 to 4096 x32",
                          "4096 to 32 x32", "16 to 14336 x32", "7168 to 16 x32", "16 to 4096 x32"));
  EXPECT_DOUBLE_EQ(StageProgram(model("llama-3.1-8b"), {}, settings, 0).adapter_bytes().value(),
                   2.0 * 41'943'040);
  batch.adapters = batch.adapted_tokens = 0;
  EXPECT_FALSE(
      contains(generate(model("llama-3.1-8b"), {}, settings, batch, 0), "adapters_shrink"));
}

// Routed experts have none, and neither have router and LM head.
TEST(Generate, AdaptersLeaveRoutedExpertsAlone) {
  ExecutionSettings settings;
  settings.lora = LoraSettings{};
  BatchShape batch = batch_of_100();
  batch.adapters = batch.adapted_tokens = 1;
  const KernelSequence sequence = generate(model("mixtral-8x7b"), {}, settings, batch, 0);
  EXPECT_EQ(std::ranges::count(sequence, "adapters_shrink", &KernelCall::role), 2);
}

}  // namespace
}  // namespace foretoken
