// Kernels of layers that are not plain attention, and of models whose layers are of kinds.
#include <set>

#include "sim/base/toml.hpp"
#include "tests/unit/workloads/generator_fixture.hpp"

namespace foretoken::generator_hybrid_test {
namespace {

using testing::ElementsAre;

Transformer described(const std::string& text) { return read_model(parse_toml(text, "m")); }

const std::string shared_text = R"(name = "m"
hidden = 64
query_heads = 4
kv_heads = 2
head_dim = 16
vocabulary = 640
context_max = 4096
)";

// Two layers of a delta net and one of attention with a gate, each with an MLP.
TEST(GenerateHybrid, RecurrencesStandInAttentionsPlace) {
  const Transformer hybrid = described(shared_text + R"(layers = 3
intermediate = 128
layer_kinds = ["linear", "linear", "full"]
[kinds.linear]
attention = false
[kinds.linear.state]
kind = "delta_net"
key_heads = 2
value_heads = 4
key_dim = 8
value_dim = 16
[kinds.full]
output_gate = true
)");
  const KernelSequence sequence = generate(hybrid, {.tensor = 2}, {}, batch_of_100(), 0);
  EXPECT_THAT(
      roles(sequence),
      ElementsAre("embedding x1", "embedding_all_reduce x1", "input_norm x1", "input_norm x1",
                  "state_in_proj x2", "state_gates_proj x2", "state_convolution x2",
                  "state_scan x2", "state_norm x2", "state_out_proj x2", "state_all_reduce x2",
                  "post_attention_norm x2", "gate_up_proj x2", "activation x2", "down_proj x2",
                  "mlp_all_reduce x2", "input_norm x1", "qkv_proj x1", "rope x1", "kv_write x1",
                  "attention x1", "output_gate x1", "o_proj x1", "attention_all_reduce x1",
                  "post_attention_norm x1", "gate_up_proj x1", "activation x1", "down_proj x1",
                  "mlp_all_reduce x1", "final_norm x1", "lm_head x1", "logits_all_gather x1",
                  "sampling x1"));
  // Queries and keys 2 x 2 x 8, values 4 x 16, a gate as wide; two numbers a head: over two ranks.
  EXPECT_EQ(kernel<Gemm>(sequence, "state_in_proj"), (Gemm{100, (32 + 64 + 64) / 2, 64}));
  EXPECT_EQ(kernel<Gemm>(sequence, "state_gates_proj"), (Gemm{100, 8 / 2, 64}));
  const StateLoad load{1, 97, 3, 3};
  EXPECT_EQ(
      kernel<StateScan>(sequence, "state_scan"),
      (StateScan{.key_heads = 1, .value_heads = 2, .key_dim = 8, .value_dim = 16, .load = load}));
  EXPECT_EQ(kernel<StateConvolution>(sequence, "state_convolution"),
            (StateConvolution{.channels = 48, .load = load}));
  // A gate for each of the queries' values: 2 x (4 + 4) heads and 2 x 2 of keys and values.
  EXPECT_EQ(kernel<Gemm>(sequence, "qkv_proj"), (Gemm{100, (4 + 4 + 2 + 2) * 16 / 2, 64}));
}

// An index on every rank, and attention that reads at most what it picks.
TEST(GenerateHybrid, AnIndexPicksBeforeAttention) {
  const Transformer sparse = described(R"(name = "m"
hidden = 64
query_heads = 4
vocabulary = 640
context_max = 4096
layers = 2
intermediate = 128
layer_kinds = ["own", "shared"]
[mla]
query_rank = 32
kv_rank = 16
nope_dim = 8
rope_dim = 4
value_dim = 8
[kinds.own.index]
heads = 2
head_dim = 8
selected = 100
[kinds.shared.index]
heads = 2
head_dim = 8
selected = 100
shared = true
)");
  const KernelSequence sequence = generate(sparse, {.tensor = 2}, {}, batch_of_100(), 0);
  EXPECT_EQ(find(sequence, "key_indexer").calls, 1);
  EXPECT_EQ(
      kernel<KeyIndexer>(sequence, "key_indexer"),
      (KeyIndexer{.heads = 2, .head_dim = 8, .selected = 100, .load = batch_of_100().attention}));
  EXPECT_EQ(kernel<SparseAttention>(sequence, "attention"),
            (SparseAttention{.query_heads = 2,
                             .kv_heads = 1,
                             .key_dim = 20,
                             .value_dim = 16,
                             .values_are_keys = true,
                             .selected = 100,
                             .load = batch_of_100().attention}));
  EXPECT_EQ(find(sequence, "index_q_rotate").calls, 1);
  ExecutionSettings sglang;
  sglang.implementation.framework = Framework::sglang;
  EXPECT_EQ(
      find(generate(sparse, {.tensor = 2}, sglang, batch_of_100(), 0), "index_q_rotate").calls, 2);
  // Prompts run on the latent as decodes do.
  EXPECT_EQ(std::get<BatchedGemm>(find(sequence, "q_absorb").kernel).m, 100);
  EXPECT_EQ(find(sequence, "q_absorb").part, LoadPart::all);
}

// DeepSeek-V4: one pass norms and rotates queries and writes the cache; in 8 bit one more follows.
TEST(GenerateHybrid, CompressedAttentionFusesItsSmallKernels) {
  const Transformer model = load_model("deepseek-v4-flash", {});
  const auto roles_in = [&](DType dtype) {
    ExecutionSettings settings;
    settings.attention_dtype = dtype;
    std::set<std::string> names;
    for (const KernelCall& call : generate(model, {.tensor = 8}, settings, batch_of_100(), 0)) {
      names.insert(std::string(call.role));
    }
    return names;
  };
  const std::set<std::string> in_8bit = roles_in(DType::fp8_block);
  EXPECT_THAT(in_8bit, testing::IsSupersetOf({"rope", "o_rotate", "kv_compressor_norm"}));
  EXPECT_FALSE(in_8bit.contains("kv_write"));
  EXPECT_FALSE(in_8bit.contains("kv_a_norm"));
  EXPECT_FALSE(roles_in(DType::bf16).contains("o_rotate"));
  const auto rope = kernel<Rope>(generate(model, {.tensor = 8}, {}, batch_of_100(), 0), "rope");
  EXPECT_EQ(rope.heads, 64 / 8 + 1);
  EXPECT_EQ(rope.head_dim, 512);
}

// Experts of two products on a latent.
TEST(GenerateHybrid, ExpertsOnALatent) {
  const Transformer latent = described(shared_text + R"(layers = 2
ungated_mlp = true
layer_kinds = ["attention", "moe"]
[kinds.attention]
mlp = false
[kinds.moe]
attention = false
[moe]
experts = 8
topk = 2
intermediate = 48
latent = 16
)");
  const KernelSequence sequence = generate(latent, {}, {}, batch_of_100(), 0);
  EXPECT_EQ(kernel<Gemm>(sequence, "latent_down_proj"), (Gemm{100, 16, 64}));
  EXPECT_EQ(kernel<Gemm>(sequence, "latent_up_proj"), (Gemm{100, 64, 16}));
  const auto experts = std::get<FusedMoe>(find(sequence, "experts").kernel);
  EXPECT_EQ(experts.hidden, 16);
  EXPECT_EQ(experts.intermediate, 48);
  EXPECT_TRUE(experts.ungated);
  EXPECT_EQ(find(sequence, "attention").calls, 1);
  EXPECT_FALSE(contains(sequence, "gate_up_proj"));
}

TEST(GenerateHybrid, StreamsAreMixedAroundEachBlock) {
  const Transformer model = described(shared_text +
                                      "layers = 2\nintermediate = 128\n"
                                      "hyper_streams = 4\n");
  const KernelSequence sequence = generate(model, {}, {}, batch_of_100(), 0);
  for (const char* role : {"attention_mix", "attention_unmix", "mlp_mix", "mlp_unmix"}) {
    EXPECT_EQ(find(sequence, role).calls, 2) << role;
  }
  EXPECT_EQ(kernel<HyperConnection>(sequence, "attention_mix"),
            (HyperConnection{.tokens = 100, .hidden = 64}));
  EXPECT_TRUE(std::holds_alternative<RmsNorm>(find(sequence, "post_attention_norm").kernel));
}

// MiniMax-M3: 64 and 4 heads of 128, an index of four heads and one key.
TEST(GenerateHybrid, VllmProjectsABlockIndexWithQueriesKeysAndValues) {
  const Transformer sparse = model("minimax-m3");
  const auto layer = [&](Framework framework) {
    ExecutionSettings settings;
    settings.implementation.framework = framework;
    return generate(sparse, {.tensor = 2}, settings, batch_of_100(), 0);
  };
  const auto widths = [](const KernelSequence& sequence) {
    std::set<std::int64_t> found;
    for (const KernelCall& call : sequence)
      if (call.role == "qkv_proj") found.insert(std::get<Gemm>(call.kernel).n);
    return found;
  };
  constexpr std::int64_t own = (64 + 2 * 4) * 128 / 2, index = (4 + 1) * 128;
  EXPECT_THAT(widths(layer(Framework::sglang)), ElementsAre(own));
  EXPECT_EQ(std::get<Gemm>(find(layer(Framework::sglang), "index_qk_proj").kernel).n, index);
  EXPECT_THAT(widths(layer(Framework::vllm)), ElementsAre(own, own + index));  // dense layers first
  EXPECT_FALSE(contains(layer(Framework::vllm), "index_qk_proj"));
}

}  // namespace
}  // namespace foretoken::generator_hybrid_test
