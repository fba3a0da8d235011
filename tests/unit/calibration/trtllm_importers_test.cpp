// What importers make of TensorRT-LLM's tables, which name flows in place of kernels and measured
// fp8 products with scales that checkpoints bring along.
#include <gtest/gtest.h>

#include "calibration/datasets/dataset.hpp"
#include "tests/unit/calibration/data_folder.hpp"

namespace foretoken::trtllm_importers_test {
namespace {

// Found while it runs, a scale takes 7 of 17.5 us more; where the two measurements disagree (0), or
// none is for these activations, the row is not known. 16 bit: others' tables have cuBLAS.
TEST(TrtllmImporters, TakeTheSearchForScalesOffTensorRtLlmsProducts) {
  const DataFolder folder;
  folder.write("kernels/h100_sxm/computescale_perf.trtllm.csv",
               "op_name,kernel_source,m,k,quant_dtype,latency\n"
               "compute_scale,torch_ops,8,4096,fp8,0.007\n"
               "compute_scale,torch_ops,16,4096,fp8,0\n");
  folder.write("kernels/h100_sxm/gemm_perf.trtllm.csv",
               "op_name,kernel_source,gemm_dtype,m,n,k,latency\n"
               "gemm,torch_flow,fp8,8,1024,4096,0.0175\n"
               "gemm,torch_flow,fp8,16,1024,4096,0.018\n"
               "gemm,torch_flow,fp8,8,1024,8192,0.018\n"
               "gemm,torch_flow,fp8_block,8,1024,4096,0.01\n"
               "gemm,torch_flow,bfloat16,8,1024,4096,0.01\n");
  const Dataset dataset = load_foretoken_data(folder.path());
  ASSERT_EQ(dataset.samples.size(), 2u);
  EXPECT_NEAR(dataset.samples[0].time.value(), 10.5e-6, 1e-12);
  EXPECT_EQ(std::get<Gemm>(dataset.samples[0].kernel).implementation.framework, Framework::trtllm);
  EXPECT_NEAR(dataset.samples[1].time.value(), 10e-6, 1e-12);
}

TEST(TrtllmImporters, ReadTensorRtLlmsAttentionAndExperts) {
  const DataFolder folder;
  const std::string header =
      "op_name,kernel_source,batch_size,isl,num_heads,num_key_value_heads,head_dim,window_size,"
      "beam_width,attn_dtype,kv_cache_dtype,step,latency\n";
  folder.write("kernels/h100_sxm/generation_attention_perf.trtllm.csv",
               header + "generation_attention,torch_flow,2,1,8,2,128,0,1,bfloat16,fp8,63,0.008\n" +
                   "generation_attention,torch_flow_flashinfer,2,1,8,2,256,0,1,bfloat16,fp8,63,"
                   "0.008\n");
  // A prompt of one token runs as prompts do, which is no decode.
  folder.write("kernels/h100_sxm/context_attention_perf.trtllm.csv",
               header + "context_attention,torch_flow,2,1,8,2,128,0,1,fp8,fp8,0,0.05\n" +
                   "context_attention,torch_flow,2,64,8,2,128,0,1,fp8,fp8,0,0.02\n");
  folder.write("kernels/h100_sxm/moe_perf.trtllm.csv",
               "op_name,kernel_source,moe_dtype,num_tokens,hidden_size,inter_size,topk,num_experts,"
               "moe_tp_size,moe_ep_size,distribution,latency\n"
               "moe,moe_torch_flow,w4a16_mxfp4,8,4096,2048,2,8,1,1,balanced,0.1\n"
               "moe,moe_torch_flow_min_latency,fp8,8,4096,2048,2,8,1,1,balanced,0.1\n"
               "moe,moe_torch_flow,bfloat16,8,4096,2048,2,8,1,1,balanced,0.1\n");
  const Dataset dataset = load_foretoken_data(folder.path());
  ASSERT_EQ(dataset.samples.size(), 3u);
  const auto& prompt = std::get<Attention>(dataset.samples[0].kernel);
  EXPECT_EQ(prompt.load.prefill.query_tokens, 128);
  EXPECT_EQ(prompt.implementation, (Implementation{Framework::trtllm, KernelSource::trtllm}));
  const auto& decode = std::get<Attention>(dataset.samples[1].kernel);
  EXPECT_EQ(decode.load.decode.context_tokens, 128);
  EXPECT_EQ(decode.kv_dtype, DType::fp8);
  const auto& moe = std::get<FusedMoe>(dataset.samples[2].kernel);
  EXPECT_EQ(moe.implementation, (Implementation{Framework::trtllm, KernelSource::cutlass}));
  EXPECT_EQ(dataset.rows_left_out, 2);  // FlashInfer's, and Blackwell's experts
}

}  // namespace
}  // namespace foretoken::trtllm_importers_test
