// Each importer on a few hand-made rows: units, names, shapes, layouts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calibration/datasets/dataset.hpp"
#include "sim/base/error.hpp"
#include "tests/unit/calibration/data_folder.hpp"

namespace foretoken {
namespace {

TEST(Importers, ReadMatrixProducts) {
  const DataFolder folder;
  folder.write("kernels/h100_sxm/gemm_perf.sglang.csv",
               "op_name,kernel_source,gemm_dtype,m,n,k,latency\n"
               "gemm,sglang_torch_linear,bfloat16,9,1536,16384,0.0224\n"
               "gemm,sglang_deepgemm_gemm_nt_f8f8bf16,fp8_block,13,5120,256,0.0148\r\n");
  const Dataset dataset = load_foretoken_data(folder.path());
  ASSERT_EQ(dataset.samples.size(), 2u);
  const Sample& first = dataset.samples[0];
  EXPECT_EQ(first.kernel,
            Kernel(Gemm{9, 1536, 16384, DType::bf16, {Framework::sglang, KernelSource::cublas}}));
  EXPECT_EQ(first.gpu, "h100-sxm");
  EXPECT_DOUBLE_EQ(first.time.value(), 22.4e-6);  // the table is in milliseconds
  EXPECT_EQ(first.source_name, "sglang_torch_linear");
  EXPECT_EQ(first.layout, "n1536 k16384");
  const auto& second = std::get<Gemm>(dataset.samples[1].kernel);
  EXPECT_EQ(second.dtype, DType::fp8_block);
  EXPECT_EQ(second.implementation.source, KernelSource::deep_gemm);
}

TEST(Importers, ReadEncoderAttention) {
  const DataFolder folder;
  const std::string header =
      "op_name,kernel_source,batch_size,isl,num_heads,head_dim,attn_dtype,latency\n";
  folder.write("kernels/b200_sxm/encoder_attention_perf.sglang.csv",
               header + "encoder_attention,flash_attention_v4,2,400,16,72,bfloat16,0.0125\n");
  folder.write("kernels/b200_sxm/encoder_attention_perf.trtllm.csv",
               header + "encoder_attention,torch_flow,1,1,16,80,bfloat16,0.015\n");
  const Dataset dataset = load_foretoken_data(folder.path());
  ASSERT_EQ(dataset.samples.size(), 2u);
  const auto& images = std::get<Attention>(dataset.samples[0].kernel);
  EXPECT_FALSE(images.causal);
  EXPECT_EQ(images.page_tokens, 0);
  EXPECT_EQ(images.kv_heads, 16);
  EXPECT_EQ(images.load.prefill.sequences, 2);
  EXPECT_EQ(images.load.prefill.context_tokens, 800);
  EXPECT_EQ(images.implementation.source, KernelSource::flash_attention_4);
  EXPECT_EQ(dataset.samples[0].layout, "q16 kv16 d72");
  EXPECT_DOUBLE_EQ(dataset.samples[0].time.value(), 12.5e-6);
  const auto& single = std::get<Attention>(dataset.samples[1].kernel);
  EXPECT_EQ(single.load.decode.sequences, 1);
  EXPECT_EQ(single.implementation, (Implementation{Framework::trtllm, KernelSource::trtllm}));
}

TEST(Importers, ReadPrefillAndDecode) {
  const DataFolder folder;
  const std::string header =
      "op_name,kernel_source,batch_size,isl,num_heads,num_key_value_heads,head_dim,beam_width,"
      "attn_dtype,kv_cache_dtype,step,window_size,latency\n";
  folder.write("kernels/l40s/context_attention_perf.vllm.csv",
               header +
                   "context_attention,vllm_flash_attn_fa2,2,1024,32,8,128,1,bfloat16,fp8,0,"
                   "128,0.5\n"
                   "context_attention,vllm_flash_attn_fa2,4,1,32,8,128,1,bfloat16,bfloat16,0,"
                   "0,0.01\n");
  folder.write("kernels/l40s/generation_attention_perf.vllm.csv",
               header +
                   "generation_attention,vllm_flash_attn_fa2,3,1,32,8,128,1,bfloat16,bfloat16,"
                   "511,0,0.02\n");
  const Dataset dataset = load_foretoken_data(folder.path());
  ASSERT_EQ(dataset.samples.size(), 3u);
  const auto& prefill = std::get<Attention>(dataset.samples[0].kernel);
  EXPECT_EQ(prefill.kv_dtype, DType::fp8);
  EXPECT_EQ(prefill.window, 128);
  EXPECT_EQ(prefill.load.prefill.sequences, 2);
  EXPECT_EQ(prefill.load.prefill.query_tokens, 2048);
  EXPECT_EQ(prefill.load.prefill.context_tokens, 2048);
  // 1 + 2 + … + 1024 = 524,800 pairs a sequence.
  EXPECT_DOUBLE_EQ(prefill.load.prefill.causal_pairs, 2 * 524'800.0);
  EXPECT_EQ(dataset.samples[0].layout, "q32 kv8 d128");
  // A prompt of one token is what `foretoken predict` would read from the same lists: a decode.
  const auto& single = std::get<Attention>(dataset.samples[1].kernel);
  EXPECT_EQ(single.load.decode, AttentionLoad::exact({{1, 1}, {1, 1}, {1, 1}, {1, 1}}).decode);
  EXPECT_EQ(single.load.prefill, LoadSums());
  const auto& decode = std::get<Attention>(dataset.samples[2].kernel);
  EXPECT_EQ(decode.load.decode.sequences, 3);
  EXPECT_EQ(decode.load.decode.context_tokens, 3 * 512);  // isl + step
  EXPECT_EQ(decode.load.prefill.sequences, 0);
}

TEST(Importers, ReadTablesWithoutWindow) {
  const DataFolder folder;
  folder.write("kernels/a100_sxm/generation_attention_perf.sglang.csv",
               "op_name,kernel_source,batch_size,isl,num_heads,num_key_value_heads,head_dim,"
               "beam_width,attn_dtype,kv_cache_dtype,step,latency\n"
               "generation_attention,flash_attention,64,1,64,64,128,1,bfloat16,bfloat16,3,0.1\n");
  const Dataset dataset = load_foretoken_data(folder.path());
  ASSERT_EQ(dataset.samples.size(), 1u);
  EXPECT_EQ(std::get<Attention>(dataset.samples[0].kernel).window, 0);
}

TEST(Importers, ReadExperts) {
  const DataFolder folder;
  folder.write("kernels/b200_sxm/moe_perf.vllm.csv",
               "op_name,kernel_source,moe_dtype,num_tokens,hidden_size,inter_size,topk,num_experts,"
               "moe_tp_size,moe_ep_size,distribution,latency\n"
               "moe,vllm_fp8moe_flashinfer_trtllm_trtllmfp8expertsmonolithic,fp8_block,7,7168,2048,"
               "8,256,2,4,power_law_1.01,0.08\n");
  const Dataset dataset = load_foretoken_data(folder.path());
  ASSERT_EQ(dataset.samples.size(), 1u);
  const auto& moe = std::get<FusedMoe>(dataset.samples[0].kernel);
  EXPECT_EQ(moe.tokens, 7);
  EXPECT_EQ(moe.experts, 256);
  EXPECT_EQ(moe.intermediate, 2048);  // the full width
  EXPECT_EQ(moe.tp, 2);
  EXPECT_EQ(moe.ep, 4);
  EXPECT_EQ(moe.routing.kind, Routing::Kind::power_law);
  EXPECT_DOUBLE_EQ(moe.routing.parameter, 1.01);
  EXPECT_EQ(moe.implementation.source, KernelSource::trtllm);
  EXPECT_EQ(dataset.samples[0].layout, "h7168 i2048 top8 of 256 / tp2 ep4");
  EXPECT_EQ(unsharded_layout(dataset.samples[0].layout), "h7168 i2048 top8 of 256");
}

TEST(Importers, ReadBareKernels) {
  const DataFolder folder;
  folder.write("h200_flashinfer/some.csv",
               "kernel,median_us,launches,spec\n"
               "empty,0.67,g1,grid=1;threads=32\n"
               "rmsnorm,3.19,g98,rows=98;d=7168\n"
               "prefill_paged,20,g6,batch=3;nh=28;nkv=4;hd=128;q=5*2|1;kv=42*2|700;page=16\n");
  const Dataset dataset = load_foretoken_data(folder.path());
  ASSERT_EQ(dataset.samples.size(), 2u);  // the empty kernel is none of ours
  EXPECT_EQ(dataset.samples[0].kernel, Kernel(RmsNorm{98, 7168, DType::bf16}));
  EXPECT_DOUBLE_EQ(dataset.samples[0].time.value(), 3.19e-6);
  const auto& attention = std::get<Attention>(dataset.samples[1].kernel);
  EXPECT_EQ(attention.load, AttentionLoad::exact({{5, 42}, {5, 42}, {1, 700}}));
  EXPECT_TRUE(attention.implementation.is_cold);
  EXPECT_EQ(attention.implementation.source, KernelSource::flashinfer_fa2);
}

TEST(Importers, ReadOurOwnFormat) {
  const DataFolder folder;
  folder.write("h200/attention.csv",
               "# format: foretoken dataset 1\n"
               "# gpu: NVIDIA H200\n"
               "kernel,framework,kernel_source,query_heads,kv_heads,head_dim,query_tokens,"
               "context_tokens,dtype,causal,time_us,warm_us,pass,kernel_name\n"
               "attention,pytorch,flash_attention_2,32,8,128,1*2|16,64*2|16,bf16,1,9.5,8,0,"
               "\"fwd<a,b>\"\n"
               "attention,pytorch,flash_attention_2,32,8,128,1,64,bf16,1,5,4,1,repeated\n");
  const Dataset dataset = load_own_measurements(folder.path());
  ASSERT_EQ(dataset.samples.size(), 2u);
  const auto& cold = std::get<Attention>(dataset.samples[0].kernel);
  EXPECT_EQ(cold.load, AttentionLoad::exact({{1, 64}, {1, 64}, {16, 16}}));
  EXPECT_TRUE(cold.implementation.is_cold);
  EXPECT_EQ(dataset.samples[0].gpu, "h200-sxm");
  EXPECT_EQ(dataset.samples[0].origin, "foretoken_h200");
  EXPECT_DOUBLE_EQ(dataset.samples[0].time.value(), 9.5e-6);
  EXPECT_FALSE(std::get<Attention>(dataset.samples[1].kernel).implementation.is_cold);
  EXPECT_DOUBLE_EQ(dataset.samples[1].time.value(), 8e-6);
}

TEST(Importers, TakeWarmTimesWhereThereAreNoOthers) {
  const DataFolder folder;
  folder.write("gemm.csv",
               "# format: foretoken dataset 1\n"
               "kernel,m,n,k,dtype,time_us,warm_us\n"
               "gemm,64,4096,4096,bf16,,12\n");
  const Dataset dataset = load_own_measurements(folder.path(), {}, "l40s");
  ASSERT_EQ(dataset.samples.size(), 1u);
  EXPECT_FALSE(std::get<Gemm>(dataset.samples[0].kernel).implementation.is_cold);
}

std::string own_message(const std::string& text) {
  const DataFolder folder;
  folder.write("my.csv", text);
  try {
    load_own_measurements(folder.path() / "my.csv", {}, "l40s");
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(Importers, RefuseWhatWasMeasuredOnAnotherGpu) {
  using testing::HasSubstr;
  const std::string rows = "kernel,tokens,dim,time_us\nrms_norm,8,4096,2\n";
  const std::string format = "# format: foretoken dataset 1\n";
  EXPECT_EQ(own_message(format + "# gpu_spec: l40s\n# sm_count: 142\n" + rows), "");
  EXPECT_THAT(own_message(format + "# gpu_spec: l4\n" + rows),
              HasSubstr("my.csv:2: gpu_spec is l4, but the GPU asked for is 'l40s'"));
  EXPECT_THAT(own_message(format + "# x: y\n# sm_count: 58\n" + rows),
              HasSubstr("my.csv:3: sm_count is 58, but 'l40s' has 142 SMs"));
  EXPECT_THAT(own_message(format + "# compute_capability: 9.0\n" + rows),
              HasSubstr("my.csv:2: compute_capability is 9.0, but 'l40s' has 8.9"));
  EXPECT_THAT(own_message(rows), HasSubstr("is not a dataset of measurements"));
  EXPECT_THAT(own_message(format + "kernel,tokens,dim,time_us\nrms_norm,8,4096,0\n"),
              HasSubstr("my.csv:3: time_us: must be above 0, not 0"));
}

TEST(Importers, KnowGpusByTheDriversName) {
  for (const auto& [driver, gpu] : std::initializer_list<std::pair<const char*, const char*>>{
           {"NVIDIA H200", "h200-sxm"},
           {"NVIDIA A100-SXM4-80GB", "a100-sxm"},
           {"NVIDIA A100-PCIE-80GB", "a100-pcie"},
           {"NVIDIA L40S", "l40s"},
           {"NVIDIA RTX 6000 Ada Generation", "rtx-6000-ada"},
           {"NVIDIA RTX PRO 6000 Blackwell Server Edition", "rtx-pro-6000-server"}}) {
    const DataFolder folder;
    folder.write("rms_norm.csv", fmt::format("# format: foretoken dataset 1\n# gpu: {}\n"
                                             "kernel,tokens,dim,time_us\nrms_norm,8,4096,2\n",
                                             driver));
    EXPECT_EQ(load_own_measurements(folder.path()).samples.at(0).gpu, gpu);
  }
}

TEST(Importers, SayWhereARowIsWrong) {
  const DataFolder folder;
  folder.write("kernels/l40s/gemm_perf.vllm.csv",
               "op_name,kernel_source,gemm_dtype,m,n,k,latency\n"
               "gemm,torch,bfloat16,many,1536,16384,0.02\n");
  try {
    load_foretoken_data(folder.path());
    FAIL() << "accepted 'many' as a number";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), testing::EndsWith("gemm_perf.vllm.csv:2: m: must be an integer, not "
                                                "'many'"));
  }
}

TEST(Importers, NameTheColumnThatIsMissing) {
  const DataFolder folder;
  folder.write("kernels/l40s/gemm_perf.vllm.csv", "op_name,kernel_source,gemm_dtype,m,n,k\n");
  try {
    load_foretoken_data(folder.path());
    FAIL() << "accepted a table without latency";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(),
                testing::EndsWith("gemm_perf.vllm.csv: has no column 'latency'; its columns are "
                                  "op_name, kernel_source, gemm_dtype, m, n, k"));
  }
}

}  // namespace
}  // namespace foretoken
