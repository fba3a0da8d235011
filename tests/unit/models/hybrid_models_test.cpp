// Architectures whose layers are not plain attention: what they import as, counted against the
// tensors of the published checkpoints, and what they keep of a sequence.
#include <gmock/gmock.h>

#include <initializer_list>

#include "models/operator_graph.hpp"
#include "models/sequence_memory.hpp"
#include "models/transformer.hpp"
#include "sim/base/json.hpp"
#include "sim/base/toml.hpp"

namespace foretoken::hybrid_models_test {
namespace {

Transformer hybrid(const std::string& text) {
  const Transformer model = import_hugging_face(parse_json(text, {"config.json"}), "m");
  EXPECT_EQ(read_model(parse_toml(model_toml(model), "m")), model);
  return model;
}

/// A tensor of the checkpoint, and in how many places it is.
struct Tensors {
  std::int64_t count, rows, columns;
};

double weights_of(std::initializer_list<Tensors> tensors) {
  double sum = 0;
  for (const Tensors& tensor : tensors) {
    sum += static_cast<double>(tensor.count) * static_cast<double>(tensor.rows) *
           static_cast<double>(tensor.columns);
  }
  return sum;
}

void expect_weights(const Transformer& model, std::initializer_list<Tensors> tensors) {
  const double expected = weights_of(tensors);
  EXPECT_NEAR(static_cast<double>(parameter_count(model)), expected, 0.005 * expected);
}

// 45 layers of 60 are a delta net, 15 full attention with a gate; all have 512 experts.
TEST(HybridModels, QwenDeltaNet) {
  const Transformer model = hybrid(R"({"architectures": ["Qwen3_5MoeForConditionalGeneration"],
    "text_config": {"attn_output_gate": true, "full_attention_interval": 4, "head_dim": 256,
      "hidden_size": 4096, "linear_conv_kernel_dim": 4, "linear_key_head_dim": 128,
      "linear_num_key_heads": 16, "linear_num_value_heads": 64, "linear_value_head_dim": 128,
      "max_position_embeddings": 262144, "moe_intermediate_size": 1024,
      "mtp_num_hidden_layers": 1, "num_attention_heads": 32, "num_experts": 512,
      "num_experts_per_tok": 10, "num_hidden_layers": 60, "num_key_value_heads": 2,
      "shared_expert_intermediate_size": 1024, "vocab_size": 248320,
      "mamba_ssm_dtype": "float32"}})");
  expect_weights(model, {{2, 248320, 4096},
                         {45, 12288, 4096},   // in_proj_qkv
                         {45, 8192, 4096},    // in_proj_z
                         {2 * 45, 64, 4096},  // in_proj_a, in_proj_b
                         {45, 12288, 4},      // conv1d
                         {45, 4096, 8192},    // out_proj
                         {15, 16384, 4096},   // q_proj, its gate in it
                         {2 * 15, 512, 4096},
                         {15, 4096, 8192},
                         {60 * 512, 3 * 1024, 4096},
                         {60, 3 * 1024, 4096},  // shared expert
                         {60, 512 + 1, 4096}});
  // A state of 64 x 128 x 128 in fp32 and three tokens of 12,288 channels, in each of 45 layers.
  const SequenceMemory kept = sequence_memory_per_rank(model, {}, 0, DType::bf16);
  EXPECT_EQ(kept.state, Bytes(45.0 * (64 * 128 * 128 * 4 + 12288 * 3 * 2)));
  EXPECT_EQ(kept.per_token, Bytes(15.0 * 2 * 2 * 256 * 2));
  EXPECT_EQ(sequence_memory_per_rank(model, {.tensor = 2}, 0, DType::bf16).state, kept.state / 2.0);
  EXPECT_EQ(model.mtp_layers, 1);
  EXPECT_TRUE(mtp_module(model).kind(0)->has_attention);
}

TEST(HybridModels, KimiDeltaAttentionBesideLatentAttention) {
  const Transformer model = hybrid(R"({"architectures": ["KimiLinearForCausalLM"],
    "first_k_dense_replace": 1, "hidden_size": 2304, "intermediate_size": 9216,
    "kv_lora_rank": 512, "linear_attn_config": {"full_attn_layers": [4, 8, 12, 16, 20, 24, 27],
      "head_dim": 128, "num_heads": 32, "short_conv_kernel_size": 4,
      "kda_layers": [1, 2, 3, 5, 6, 7, 9, 10, 11, 13, 14, 15, 17, 18, 19, 21, 22, 23, 25, 26]},
    "max_position_embeddings": 1048576, "mla_use_nope": true, "moe_intermediate_size": 1024,
    "num_attention_heads": 32, "num_experts": 256, "num_experts_per_token": 8,
    "num_hidden_layers": 27, "num_key_value_heads": 32, "num_shared_experts": 1,
    "q_lora_rank": null, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
    "vocab_size": 163840})");
  expect_weights(model, {{2, 163840, 2304},
                         {3 * 20, 4096, 2304},  // q, k and v
                         {3 * 20, 4096, 4},
                         {2 * 20, 128, 2304},  // f_a and g_a
                         {2 * 20, 4096, 128},  // f_b and g_b
                         {20, 32, 2304},
                         {20, 2304, 4096},
                         {7, 32 * 192, 2304},
                         {7, 576, 2304},
                         {7, 32 * 256, 512},
                         {7, 2304, 4096},
                         {1, 3 * 9216, 2304},
                         {26 * 257, 3 * 1024, 2304},
                         {26, 256, 2304}});
  const SequenceMemory kept = sequence_memory_per_rank(model, {}, 0, DType::bf16);
  EXPECT_EQ(kept.per_token, Bytes(7.0 * 576 * 2));
  EXPECT_EQ(kept.state, Bytes(20.0 * (32 * 128 * 128 * 4 + 12288 * 3 * 2)));
}

// K3: experts on a latent, gates of full rank, a gate on latent attention.
TEST(HybridModels, KimiExpertsOnALatent) {
  const Transformer model = hybrid(R"({"architectures": ["KimiK3ForConditionalGeneration"],
    "text_config": {"attn_res_block_size": 12, "first_k_dense_replace": 1, "hidden_act": "situ",
      "hidden_size": 7168, "intermediate_size": 33792, "kv_lora_rank": 512,
      "linear_attn_config": {"head_dim": 128, "num_heads": 96, "short_conv_kernel_size": 4,
        "kda_layers": [1, 2, 3], "use_full_rank_gate": true},
      "max_position_embeddings": 1048576, "mla_use_output_gate": true,
      "moe_intermediate_size": 3072, "num_attention_heads": 96, "num_experts": 896,
      "num_experts_per_token": 16, "num_hidden_layers": 4, "num_key_value_heads": 96,
      "num_shared_experts": 2, "q_lora_rank": 1536, "qk_nope_head_dim": 128,
      "qk_rope_head_dim": 64, "routed_expert_hidden_size": 3584, "v_head_dim": 128,
      "vocab_size": 163840}})");
  expect_weights(model, {{2, 163840, 7168},
                         {3 * 3, 12288, 7168},
                         {3, 12288, 7168},  // g
                         {3, 128, 7168},
                         {3, 12288, 128},
                         {3, 7168, 12288},
                         {1, 1536 + 576, 7168},
                         {1, 96 * 192, 1536},
                         {1, 96 * 256, 512},
                         {2, 12288, 7168},  // o and its gate
                         {1, 3 * 33792, 7168},
                         {3 * 896, 3 * 3072, 3584},
                         {3 * 2, 3584, 7168},
                         {3 * 2, 3 * 3072, 7168},
                         {3, 896, 7168}});
  EXPECT_THAT(model.left_out, testing::Contains(testing::HasSubstr("every 12 layers")));
}

TEST(HybridModels, DeepSeekIndexPicksKeys) {
  const Transformer model = hybrid(R"({"architectures": ["DeepseekV32ForCausalLM"],
    "first_k_dense_replace": 3, "hidden_size": 7168, "index_head_dim": 128, "index_n_heads": 64,
    "index_topk": 2048, "intermediate_size": 18432, "kv_lora_rank": 512,
    "max_position_embeddings": 163840, "moe_intermediate_size": 2048, "n_routed_experts": 256,
    "n_shared_experts": 1, "num_attention_heads": 128, "num_experts_per_tok": 8,
    "num_hidden_layers": 61, "num_key_value_heads": 128, "q_lora_rank": 1536,
    "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "vocab_size": 129280})");
  expect_weights(model, {{2, 129280, 7168},
                         {61, 1536 + 576, 7168},
                         {61, 128 * 192, 1536},
                         {61, 128 * 256, 512},
                         {61, 7168, 128 * 128},
                         {61, 64 * 128, 1536},  // indexer.wq_b
                         {61, 128 + 64, 7168},  // indexer.wk, weights_proj
                         {3, 3 * 18432, 7168},
                         {58 * 257, 3 * 2048, 7168},
                         {58, 256, 7168}});
  // A latent and an index key of 128 bytes with a scale, a token and layer.
  EXPECT_EQ(sequence_memory_per_rank(model, {.tensor = 8}, 0, DType::bf16).per_token,
            Bytes(61.0 * (576 * 2 + 132)));
}

// Three layers of four take over an index's picks: no weights, no keys.
TEST(HybridModels, GlmSharesAnIndex) {
  const std::string text = R"({"architectures": ["GlmMoeDsaForCausalLM"],
    "first_k_dense_replace": 3, "hidden_size": 6144, "index_head_dim": 128, "index_n_heads": 32,
    "index_topk": 2048, "intermediate_size": 12288, "kv_lora_rank": 512,
    "max_position_embeddings": 202752, "moe_intermediate_size": 2048, "n_routed_experts": 256,
    "n_shared_experts": 1, "num_attention_heads": 64, "num_experts_per_tok": 8,
    "num_hidden_layers": 7, "num_key_value_heads": 64, "q_lora_rank": 2048,
    "qk_nope_head_dim": 192, "qk_rope_head_dim": 64, "v_head_dim": 256, "vocab_size": 154880)";
  const Transformer all = hybrid(text + "}");
  const Transformer few =
      hybrid(text + R"(, "index_topk_freq": 4, "index_skip_topk_offset": 3, "indexer_types":
        ["full", "full", "full", "shared", "shared", "shared", "full"]})");
  const std::int64_t index = 32 * 128 * 2048 + (128 + 32) * 6144 + 2 * 128;
  EXPECT_EQ(parameter_count(all) - parameter_count(few), 3 * index);
  const Transformer by_period =
      hybrid(text + R"(, "index_topk_freq": 4, "index_skip_topk_offset": 3})");
  EXPECT_EQ(parameter_count(by_period), parameter_count(few));
  EXPECT_EQ(kv_bytes_per_token(few, DType::bf16), Bytes(7.0 * 576 * 2 + 4 * 132));
}

TEST(HybridModels, DeepSeekV4CompressesKeys) {
  const Transformer model = hybrid(R"({"architectures": ["DeepseekV4ForCausalLM"],
    "compress_ratios": [0, 4, 128, 4, 0], "expert_dtype": "fp4", "hc_mult": 4, "head_dim": 512,
    "hidden_size": 4096, "index_head_dim": 128, "index_n_heads": 64, "index_topk": 512,
    "max_position_embeddings": 1048576, "moe_intermediate_size": 2048, "n_routed_experts": 256,
    "n_shared_experts": 1, "num_attention_heads": 64, "num_experts_per_tok": 6,
    "num_hash_layers": 3, "num_hidden_layers": 4, "num_key_value_heads": 1,
    "num_nextn_predict_layers": 1, "o_groups": 8, "o_lora_rank": 1024, "q_lora_rank": 1024,
    "qk_rope_head_dim": 64, "quantization_config": {"quant_method": "fp8",
    "weight_block_size": [128, 128]}, "sliding_window": 128, "vocab_size": 129280})");
  expect_weights(model, {{2, 129280, 4096},
                         {4, 1024 + 512, 4096},        // wq_a, wkv
                         {4, 64 * 512, 1024},          // wq_b
                         {4, 8 * 1024, 64 * 512 / 8},  // wo_a
                         {4, 4096, 8 * 1024},          // wo_b
                         {2 * 2, 1024, 4096},          // compressor at 4: wkv, wgate of two halves
                         {2, 512, 4096},               // at 128
                         {2, 64 * 128, 1024},          // indexer.wq_b
                         {2, 64, 4096},
                         {2 * 2, 256, 4096},  // indexer.compressor
                         {4 * 257, 3 * 2048, 4096},
                         {4, 256, 4096},
                         {2 * 4, 24, 4 * 4096}});  // hyper-connections
  EXPECT_EQ(model.released->experts, DType::mxfp4);
  EXPECT_EQ(model.released->attention, DType::fp8_block);
  const SequenceMemory kept = sequence_memory_per_rank(model, {}, 0, DType::bf16);
  EXPECT_EQ(kept.per_token, Bytes(2 * (512 * 2 + 132) / 4.0 + 512 * 2 / 128.0));
  ASSERT_EQ(kept.windows.size(), 1U);
  EXPECT_EQ(kept.windows.front().tokens, 128);
  EXPECT_EQ(kept.windows.front().per_token, Bytes(4.0 * 512 * 2));
}

TEST(HybridModels, MiniMaxPicksBlocks) {
  const Transformer model = hybrid(R"({"architectures": ["MiniMaxM3ForCausalLM"],
    "dense_intermediate_size": 12288, "first_k_dense_replace": 1, "head_dim": 128,
    "hidden_act": "swigluoai", "hidden_size": 6144, "intermediate_size": 3072,
    "max_position_embeddings": 1048576, "moe_intermediate_size": 3072, "moe_layer_freq": [0, 1],
    "n_shared_experts": 1, "num_attention_heads": 64, "num_experts_per_tok": 4,
    "num_hidden_layers": 2, "num_key_value_heads": 4, "num_local_experts": 128,
    "shared_intermediate_size": 3072, "sparse_attention_config": {
      "sparse_attention_freq": [0, 1], "sparse_block_size": 128, "sparse_index_dim": 128,
      "sparse_num_index_heads": 4, "sparse_topk_blocks": 16, "use_sparse_attention": true},
    "use_qk_norm": true, "use_routing_bias": true, "vocab_size": 200064})");
  expect_weights(model, {{2, 200064, 6144},
                         {2, 64 * 128 + 2 * 512, 6144},
                         {2, 6144, 64 * 128},
                         {1, 5 * 128, 6144},
                         {1, 3 * 12288, 6144},
                         {129, 3 * 3072, 6144},
                         {1, 128, 6144}});
  EXPECT_EQ(model.attention(1).index->selected, 2048);
  EXPECT_FALSE(model.attention(0).index);
}

TEST(HybridModels, NemotronMixesBlocks) {
  const Transformer model = hybrid(R"({"architectures": ["NemotronHForCausalLM"], "head_dim": 128,
    "conv_kernel": 4, "expand": 2, "chunk_size": 128, "hidden_size": 4096,
    "hybrid_override_pattern": "ME*-", "intermediate_size": 2688,
    "mamba_head_dim": 64, "mamba_num_heads": 128, "mamba_ssm_cache_dtype": "float32",
    "max_position_embeddings": 262144, "mlp_hidden_act": "relu2", "moe_intermediate_size": 2688,
    "moe_latent_size": 1024, "moe_shared_expert_intermediate_size": 5376, "n_groups": 8,
    "n_routed_experts": 512, "n_shared_experts": 1, "num_attention_heads": 32,
    "num_experts_per_tok": 22, "num_hidden_layers": 4, "num_key_value_heads": 2,
    "num_nextn_predict_layers": 1, "ssm_state_size": 128, "use_conv_bias": true,
    "time_step_limit": [0.0, Infinity], "vocab_size": 131072})");
  expect_weights(model, {{2, 131072, 4096},
                         {1, 2 * 8192 + 2 * 8 * 128 + 128, 4096},  // mixer.in_proj
                         {1, 8192 + 2 * 8 * 128, 5},
                         {1, 4096, 8192},
                         {1, (32 + 4) * 128, 4096},
                         {1, 4096, 4096},
                         {512, 2 * 2688, 1024},
                         {2, 1024, 4096},
                         {1, 2 * 5376, 4096},
                         {1, 512, 4096},
                         {1, 2 * 2688, 4096}});
  EXPECT_EQ(sequence_memory_per_rank(model, {}, 0, DType::bf16).state,
            Bytes(128.0 * 64 * 128 * 4 + (8192 + 2048) * 3 * 2));
  EXPECT_FALSE(model.is_moe_layer(3));
  const Transformer module = mtp_module(model);
  EXPECT_TRUE(module.kind(0)->has_attention);
  EXPECT_TRUE(module.is_moe_layer(0));
}

TEST(HybridModels, LayersMayBeListedAlone) {
  const Transformer model = hybrid(R"({"architectures": ["NemotronHForCausalLM"],
    "layers_block_type": ["mamba", "mlp", "attention"], "attention_head_dim": 128,
    "hidden_size": 1024, "intermediate_size": 4096, "mamba_head_dim": 64, "mamba_num_heads": 32,
    "max_position_embeddings": 8192, "mlp_hidden_act": "relu2", "n_groups": 8,
    "num_attention_heads": 16, "num_key_value_heads": 8, "ssm_state_size": 128,
    "vocab_size": 1024})");
  EXPECT_EQ(model.layers, 3);
  EXPECT_EQ(model.head_dim, 128);
}

// 0.52e9, published.
TEST(HybridModels, FalconRunsBothSideBySide) {
  const Transformer model = hybrid(R"({"architectures": ["FalconH1ForCausalLM"], "head_dim": 64,
    "hidden_size": 1024, "intermediate_size": 2048, "mamba_d_conv": 4, "mamba_d_head": 64,
    "mamba_d_ssm": 1536, "mamba_d_state": 128, "mamba_n_groups": 1, "mamba_n_heads": 24,
    "max_position_embeddings": 16384, "num_attention_heads": 8, "num_hidden_layers": 36,
    "num_key_value_heads": 2, "vocab_size": 32784})");
  expect_weights(model, {{2, 32784, 1024},
                         {36, 2 * 1536 + 2 * 128 + 24, 1024},
                         {36, 1024, 1536},
                         {36, (8 + 4) * 64, 1024},
                         {36, 1024, 512},
                         {36, 3 * 2048, 1024}});
}

// 1.17e9, published.
TEST(HybridModels, LfmConvolves) {
  const Transformer model = hybrid(R"({"architectures": ["Lfm2ForCausalLM"],
    "block_auto_adjust_ff_dim": true, "block_ff_dim": 12288, "block_ffn_dim_multiplier": 1.0,
    "block_multiple_of": 256, "conv_L_cache": 3, "conv_bias": false,
    "full_attn_idxs": [2, 5, 8, 10, 12, 14], "hidden_size": 2048,
    "max_position_embeddings": 128000, "num_attention_heads": 32, "num_hidden_layers": 16,
    "num_key_value_heads": 8, "vocab_size": 65536})");
  expect_weights(model, {{1, 65536, 2048},
                         {16, 3 * 8192, 2048},
                         {10, 4 * 2048, 2048},
                         {10, 2048, 3},
                         {6, 2 * 2048 + 2 * 512, 2048}});
  EXPECT_EQ(sequence_memory_per_rank(model, {}, 0, DType::bf16).state, Bytes(10.0 * 2048 * 2 * 2));
}

// 8.03e9, published (Command R7B).
TEST(HybridModels, CohereRunsBlocksInParallel) {
  const Transformer model = hybrid(R"({"architectures": ["Cohere2ForCausalLM"], "head_dim": 128,
    "hidden_size": 4096, "intermediate_size": 14336, "logit_scale": 0.25,
    "max_position_embeddings": 8192, "num_attention_heads": 32, "num_hidden_layers": 32,
    "num_key_value_heads": 8, "sliding_window": 4096, "sliding_window_pattern": 4,
    "vocab_size": 256000})");
  expect_weights(
      model,
      {{1, 256000, 4096}, {32, (32 + 16) * 128, 4096}, {32, 4096, 4096}, {32, 3 * 14336, 4096}});
  EXPECT_EQ(model.window(0), 4096);
  EXPECT_EQ(model.window(3), 0);
}

TEST(HybridModels, WindowsAreGivenBack) {
  const Transformer model = load_model("gemma-3-12b", {});
  const SequenceMemory kept = sequence_memory_per_rank(model, {}, 0, DType::bf16);
  ASSERT_EQ(kept.windows.size(), 1U);
  const Bytes full = kept.beside(1024);
  EXPECT_LT(kept.beside(1000), full);
  EXPECT_EQ(kept.beside(100'000), full);
}

TEST(HybridModels, NamesThatSayAFormatAreDoubted) {
  const auto config = parse_json(R"({"architectures": ["LlamaForCausalLM"], "hidden_size": 4096,
    "intermediate_size": 14336, "max_position_embeddings": 8192, "num_attention_heads": 32,
    "num_hidden_layers": 2, "vocab_size": 1024})",
                                 {"config.json"});
  EXPECT_THAT(import_hugging_face(config, "llama-nvfp4").left_out,
              testing::ElementsAre(testing::HasSubstr("its name says nvfp4")));
  EXPECT_TRUE(import_hugging_face(config, "llama").left_out.empty());
}

}  // namespace
}  // namespace foretoken::hybrid_models_test
