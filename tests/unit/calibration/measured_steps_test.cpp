// Steps put together from layers, by hand.
#include "calibration/evaluate/measured_steps.hpp"

#include <gtest/gtest.h>

#include "tests/unit/calibration/data_folder.hpp"

namespace foretoken {
namespace {

// 100 tokens in a prefill chunk and a decode: two norms of 1 us a layer, … as the header says.
TEST(MeasuredSteps, AreSumsOfWhatWasMeasured) {
  const DataFolder folder;
  std::string dense = "layer,tokens,time_us\n";
  for (const char* layer : {"layernorm", "qkv_proj", "rotary_emb", "o_proj", "gate_up_proj",
                            "act_fn", "down_proj", "embedding", "final_layernorm"}) {
    dense += fmt::format("{},101,1\n", layer);
  }
  folder.write("kernels/rtx4090_vllm019/tp1/dense.csv", dense);
  folder.write("kernels/rtx4090_vllm019/tp1/per_sequence.csv",
               "layer,sequences,time_us\nlm_head,2,100\nsampler,2,50\n");
  folder.write("kernels/rtx4090_vllm019/tp1/attention.csv",
               "prefill_chunk,kv_prefill,n_decode,kv_decode,time_us\n"
               "100,0,1,512,7\n"
               "64,0,1,512,7\n");  // 65 tokens: the layers were not measured
  const std::vector<MeasuredStep> steps = measured_steps(load_foretoken_data(folder.path()));
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].kind, "mixed");
  EXPECT_EQ(steps[0].gpu, "rtx-4090");
  // 32 x (2 + 6 + 7 of attention) + embedding 1 + norm 1 + head 100 us.
  EXPECT_NEAR(steps[0].measured, 582e-6, 1e-12);
  int calls = 0;
  for (const MeasuredStep::Part& part : steps[0].parts) calls += part.calls;
  EXPECT_EQ(calls, 32 * 9 + 3);
}

}  // namespace
}  // namespace foretoken
