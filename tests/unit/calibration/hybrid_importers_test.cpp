// Tables of recurrences, sparse attention, its index and hyper-connections, a few lines each: the
// kernels that their rows mean.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "calibration/datasets/attention_modules.hpp"
#include "calibration/datasets/dataset.hpp"
#include "tests/unit/calibration/data_folder.hpp"

namespace foretoken::hybrid_importers_test {
namespace {

TEST(HybridImporters, RecurrencesAndTheirConvolutions) {
  DataFolder folder;
  folder.write(
      "kernels/h100_sxm/gdn_perf.vllm.csv",
      "op_name,kernel_source,phase,batch_size,seq_len,num_tokens,d_model,d_conv,num_k_heads,"
      "head_k_dim,num_v_heads,head_v_dim,model_name,latency\n"
      "gdn,causal_conv1d_fn,context,2,64,128,1024,4,16,128,32,128,Q,0.002\n"
      "gdn,chunk_gated_delta_rule_flashinfer,context,2,64,128,1024,4,16,128,32,128,Q,0.02\n");
  folder.write(
      "kernels/h100_sxm/kda_perf.sglang.csv",
      "op_name,kernel_source,phase,batch_size,seq_len,num_tokens,d_model,d_conv,num_k_heads,"
      "head_k_dim,num_v_heads,head_v_dim,model_name,latency\n"
      "kda,kda_fused_decode,generation,8,1,8,7168,4,12,128,12,128,K,0.009\n"
      "kda,fused_sigmoid_gating_delta_rule_update,verify,8,4,32,7168,4,12,128,12,128,K,0.01\n");
  const Dataset dataset = load_foretoken_data(folder.path());
  ASSERT_EQ(dataset.samples.size(), 3U);
  // Queries, keys and values: (2 x 16 + 32) x 128 channels.
  const auto& convolution = std::get<StateConvolution>(dataset.samples[0].kernel);
  EXPECT_EQ(convolution.channels, 8192);
  EXPECT_EQ(convolution.load, (StateLoad{2, 128, 0, 0}));
  EXPECT_EQ(dataset.samples[1].time, Seconds(2e-5));
  const auto& verified = std::get<StateScan>(dataset.samples[2].kernel);
  EXPECT_EQ(verified.kind, StateKind::kimi_delta);
  EXPECT_EQ(verified.load, (StateLoad{0, 0, 8, 32}));
}

// Scores, and where there is more than the index keeps, the time of choosing from realistic ones.
TEST(HybridImporters, AnIndexScoresAndChooses) {
  DataFolder folder;
  const std::string columns =
      "op_name,kernel_source,model,architecture,mla_dtype,kv_cache_dtype,gemm_type,num_heads,"
      "batch_size,isl,tp_size,step,compress_ratio,latency";
  const auto row = [](int step, const char* rest, int queries = 4) {
    return fmt::format("x,s,zai-org/GLM-5,GlmMoeDsaForCausalLM,fp8,fp8,fp8,64,1,{},1,{},1,{}\n",
                       queries, step, rest);
  };
  folder.write("kernels/h100_sxm/glm5_mqa_logits_module_perf.sglang.csv",
               columns + "\n" + row(100, "0.004") + row(4096, "0.005") + row(8192, "0.006") +
                   row(100, "0.007", 1));  // a decode by the kernel of prompts
  folder.write("kernels/h100_sxm/glm5_topk_module_perf.sglang.csv.gz",
               columns + ",score_mode\n" + row(4096, "0.030,flat") + row(4096, "0.002,top_last"));
  const Dataset dataset = load_foretoken_data(folder.path());
  ASSERT_EQ(dataset.samples.size(), 2U);  // nobody timed the last one's choice
  EXPECT_NEAR(dataset.samples[0].time.value(), 4e-6, 1e-12);
  EXPECT_NEAR(dataset.samples[1].time.value(), 7e-6, 1e-12);
  EXPECT_EQ(std::get<KeyIndexer>(dataset.samples[1].kernel).load.prefill.context_tokens, 4100);
}

// GLM-5's decodes are scored by the paged kernel, which DeepSeek-V4's table times with four tokens
// a key: 8,192 keys are its step of 32,768. Among them GLM-5's own kernel picks.
TEST(HybridImporters, DecodesOfAnIndexArePagedScoresAndTheirChoice) {
  DataFolder folder;
  const std::string columns =
      "op_name,kernel_source,model,architecture,mla_dtype,kv_cache_dtype,gemm_type,num_heads,"
      "batch_size,isl,tp_size,step,compress_ratio,latency";
  const auto row = [](const char* model, int step, int ratio, const char* rest) {
    return fmt::format("x,s,{},A,fp8,fp8,fp8,64,2,1,1,{},{},{}\n", model, step, ratio, rest);
  };
  const char* glm = "zai-org/GLM-5";
  const char* v4 = "DeepSeek-V4-Flash";
  const std::string at = "kernels/h100_sxm/";
  folder.write(at + "glm5_mqa_logits_module_perf.sglang.csv",
               columns + "\n" + row(glm, 8192, 1, "0.03") + row(glm, 16'384, 1, "0.06"));
  folder.write(at + "glm5_topk_module_perf.sglang.csv.gz",
               columns + ",score_mode\n" + row(glm, 8192, 1, "0.005,top_last") +
                   row(glm, 16'384, 1, "0.007,top_last"));
  folder.write(at + "dsv4_paged_mqa_logits_module_perf.sglang.csv.gz",
               columns + "\n" + row(v4, 32'768, 4, "0.004") + row(v4, 1'000'000, 4, "0.009"));
  // Of 1,000,000 tokens the second version was not timed.
  folder.write(at + "dsv4_csa_topk_calib_perf.sglang.csv.gz",
               columns + ",score_mode\n" + row(v4, 32'768, 4, "0.006,v1_top_last") +
                   row(v4, 32'768, 4, "0.002,v2_top_last") +
                   row(v4, 1'000'000, 4, "0.2,v1_top_last"));
  const Dataset dataset = load_foretoken_data(folder.path());
  ASSERT_EQ(dataset.samples.size(), 2U);
  const auto is_compressed = [](const Sample& sample) {
    return std::get<KeyIndexer>(sample.kernel).ratio == 4;
  };
  const bool is_first = is_compressed(dataset.samples[0]);
  const Sample& compressed = dataset.samples[is_first ? 0 : 1];
  const Sample& plain = dataset.samples[is_first ? 1 : 0];
  EXPECT_NEAR(compressed.time.value(), 6e-6, 1e-12);
  EXPECT_NEAR(plain.time.value(), 9e-6, 1e-12);
  EXPECT_EQ(std::get<KeyIndexer>(plain.kernel).heads, 64);
}

TEST(HybridImporters, HeadsProductsOfLatentAttention) {
  DataFolder folder;
  const std::string columns = "op_name,kernel_source,bmm_dtype,num_tokens,num_heads,latency\n";
  folder.write("kernels/h100_sxm/mla_bmm_perf.sglang.csv",
               columns + "mla_gen_pre,b,bfloat16,64,16,0.0043\nmla_gen_post,b,fp8,1,128,0.009\n");
  folder.write("kernels/h100_sxm/mla_bmm_perf.trtllm.csv",
               columns + "mla_gen_pre,b,fp8,64,16,0.0086\n");
  const Dataset dataset = load_foretoken_data(folder.path());
  ASSERT_EQ(dataset.samples.size(), 3U);
  const auto product = [&](std::size_t i) {
    return std::get<BatchedGemm>(dataset.samples[i].kernel);
  };
  EXPECT_EQ(product(0), (BatchedGemm{16, 64, 512, 128, DType::bf16, {Framework::sglang}}));
  EXPECT_NEAR(dataset.samples[0].time.value(), 4.3e-6, 1e-12);
  EXPECT_EQ(product(1), (BatchedGemm{128, 1, 128, 512, DType::fp8, {Framework::sglang}}));
  EXPECT_EQ(product(2).dtype, DType::fp8_block) << "TensorRT-LLM's have scales a block";
}

TEST(HybridImporters, ARowOfHyperConnectionsHasTwoSites) {
  DataFolder folder;
  folder.write("kernels/h100_sxm/mhc_module_perf.vllm.csv",
               "op_name,kernel_source,architecture,num_tokens,num_sites,hc_mult,hidden_size,"
               "sinkhorn_iters,latency\npost,v,DeepseekV4ForCausalLM,64,2,4,7168,20,0.01\n");
  const Dataset dataset = load_foretoken_data(folder.path());
  ASSERT_EQ(dataset.samples.size(), 1U);
  EXPECT_EQ(dataset.samples[0].time, Seconds(5e-6));
  EXPECT_EQ(std::get<HyperConnection>(dataset.samples[0].kernel).part, HyperPart::post);
}

// DeepSeek-V3's whole attention at half of its heads: from the down-projection to the output, no
// norm before and no sum behind.
TEST(HybridImporters, AModuleIsItsKernels) {
  DataFolder folder;
  folder.write("kernels/h100_sxm/mla_generation_module_perf.vllm.csv.gz",
               "op_name,kernel_source,model,architecture,mla_dtype,kv_cache_dtype,gemm_type,"
               "num_heads,batch_size,isl,tp_size,step,latency\n"
               "m,F,deepseek-ai/DeepSeek-V3,DeepseekV3ForCausalLM,bfloat16,bfloat16,bfloat16,64,4,"
               "1,2,1000,0.2\n");
  int rows = 0;
  visit_attention_modules(folder.path(), [&](const MeasuredModule& module) {
    ++rows;
    EXPECT_EQ(module.name, "mla, decode");
    ASSERT_FALSE(module.kernels.empty());
    EXPECT_EQ(module.kernels.front().role, "qkv_a_proj");
    EXPECT_EQ(module.kernels.back().role, "o_proj");
    EXPECT_EQ(std::get<Gemm>(module.kernels.back().kernel).k, 64 * 128);
    for (const KernelCall& call : module.kernels) {
      if (const auto* core = std::get_if<Mla>(&call.kernel)) {
        EXPECT_EQ(core->load.decode.context_tokens, 4 * 1000);  // vLLM counts the new token
      }
    }
  });
  EXPECT_EQ(rows, 1);
}

// vLLM's harness fused no norm, but for latent attention on a B200; others' ran kernels of theirs.
TEST(HybridImporters, AModuleOfVllmCountsTheOperationsThatItRanAsNorms) {
  DataFolder folder;
  const std::string columns =
      "op_name,kernel_source,model,architecture,mla_dtype,kv_cache_dtype,gemm_type,num_heads,"
      "batch_size,isl,tp_size,step,latency\n";
  const std::string row =
      "m,F,deepseek-ai/DeepSeek-V3,DeepseekV3ForCausalLM,bfloat16,bfloat16,bfloat16,64,4,1,2,1000,"
      "0.2\n";
  const std::string indexed =
      "m,F,deepseek-ai/DeepSeek-V3.2,DeepseekV32ForCausalLM,bfloat16,bfloat16,bfloat16,64,4,1,2,"
      "1000,0.2\n";
  folder.write("kernels/h100_sxm/mla_generation_module_perf.vllm.csv.gz", columns + row);
  folder.write("kernels/b200_sxm/mla_generation_module_perf.vllm.csv.gz", columns + row);
  folder.write("kernels/b200_sxm/dsa_generation_module_perf.vllm.csv.gz", columns + indexed);
  folder.write("kernels/b200_sxm/dsa_generation_module_perf.trtllm.csv.gz", columns + indexed);
  std::map<std::string, int> calls;
  visit_attention_modules(folder.path(), [&](const MeasuredModule& module) {
    for (const KernelCall& call : module.kernels)
      calls[fmt::format("{} {} {}", module.gpu, module.framework, call.role)] += call.calls;
  });
  EXPECT_EQ(calls["h100-sxm vllm q_a_norm"], 8);
  EXPECT_EQ(calls["h100-sxm vllm kv_a_norm"], 8);
  EXPECT_EQ(calls["h100-sxm vllm qkv_a_proj"], 1);
  EXPECT_EQ(calls["b200-sxm vllm q_a_norm"], 1 + 8) << "one fused, of DSA not";
  EXPECT_EQ(calls["b200-sxm vllm index_k_norm"], 7);
  EXPECT_EQ(calls["b200-sxm vllm index_q_rotate"], 3);
  EXPECT_EQ(calls["b200-sxm trtllm q_a_norm"], 1);
}

// SGLang's wide expert parallelism counts the context in `isl`, and begins behind the
// down-projection.
TEST(HybridImporters, AWideModuleCountsItsContext) {
  DataFolder folder;
  const std::string columns =
      "op_name,kernel_source,model,architecture,mla_dtype,kv_cache_dtype,gemm_type,num_heads,"
      "batch_size,isl,tp_size,step,latency\n";
  const std::string row =
      "m,fa3,deepseek-ai/DeepSeek-V3,DeepseekV3ForCausalLM,fp8_block,fp8,fp8_block,";
  folder.write("kernels/h100_sxm/wideep_generation_mla_perf.sglang.csv.gz",
               columns + row + "128,4,1000,1,0,0.2\n");
  folder.write("kernels/h100_sxm/wideep_context_mla_perf.sglang.csv.gz",
               columns + row + "128,4,1000,1,0,5\n" + row + "128,1024,63,1,0,5\n" + row +
                   "128,4,1000,1,0,2.4\n");
  std::vector<std::string> names;
  visit_attention_modules(folder.path(), [&](const MeasuredModule& module) {
    names.push_back(module.name);
    EXPECT_EQ(module.kernels.front().role, "q_a_norm");
    for (const KernelCall& call : module.kernels) {
      const auto* core = std::get_if<Mla>(&call.kernel);
      if (core == nullptr) continue;
      const bool is_decode = module.name.ends_with("decode");
      const LoadSums& load = is_decode ? core->load.decode : core->load.prefill;
      EXPECT_EQ(load.context_tokens, 4 * 1000);
      EXPECT_EQ(load.query_tokens, is_decode ? 4 : 4000);
      EXPECT_EQ(core->kv_dtype, DType::bf16) << "on Hopper";
    }
  });
  EXPECT_EQ(names, (std::vector<std::string>{"mla wide EP, prefill", "mla wide EP, decode"}))
      << "rows of the host are left out";
}

}  // namespace
}  // namespace foretoken::hybrid_importers_test
