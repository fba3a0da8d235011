// Attention of image encoders: which kernel frameworks launch, its tiles by hand, whose family it
// is, and what its first-order time makes of heads that are no power of two wide.
#include <gtest/gtest.h>

#include "kernels/estimators/attention_model.hpp"
#include "kernels/tasks/decomposition.hpp"

namespace foretoken::encoder_attention_test {
namespace {

GpuSpec gpu(const char* name) { return load_gpu(name, {}); }

/// `images` of `patches` each.
Attention encoder(int heads, int head_dim, std::size_t images, std::int64_t patches,
                  Framework framework = Framework::vllm) {
  Attention kernel{.query_heads = heads, .kv_heads = heads, .head_dim = head_dim};
  kernel.causal = false;
  kernel.page_tokens = 0;
  kernel.load = AttentionLoad::exact(std::vector<SequenceSlice>(images, {patches, patches}));
  kernel.implementation.framework = framework;
  return kernel;
}

KernelSource source(const char* name, Framework framework) {
  return resolve_implementation(encoder(16, 72, 1, 100, framework), gpu(name)).source;
}

TEST(EncoderAttention, RunsWhatFrameworksTablesName) {
  EXPECT_EQ(source("l40s", Framework::vllm), KernelSource::flash_attention_2);
  EXPECT_EQ(source("h200-sxm", Framework::vllm), KernelSource::flash_attention_3);
  EXPECT_EQ(source("b200-sxm", Framework::vllm), KernelSource::flash_attention_4);
  EXPECT_EQ(source("l40s", Framework::sglang), KernelSource::triton);
  EXPECT_EQ(source("h100-sxm", Framework::sglang), KernelSource::flash_attention_3);
  EXPECT_EQ(source("b200-sxm", Framework::sglang), KernelSource::flash_attention_4);
  EXPECT_EQ(source("h100-sxm", Framework::trtllm), KernelSource::trtllm);
  EXPECT_EQ(source("mi300x", Framework::vllm), KernelSource::triton);
  // A mask makes it the language model's.
  Attention causal = encoder(16, 128, 1, 100);
  causal.causal = true;
  EXPECT_EQ(resolve_implementation(causal, gpu("b200-sxm")).source, KernelSource::trtllm);
}

/// Tasks, and operations of one of a whole tile.
void expect_tiles(const Attention& kernel, const char* name, std::int64_t tasks, int rows,
                  std::int64_t keys) {
  const Decomposition result = decompose(kernel, gpu(name));
  ASSERT_EQ(result.launches.size(), 1) << name;
  EXPECT_EQ(result.launches[0].task_count(), tasks) << name;
  EXPECT_EQ(result.launches[0].tasks.front().task.tensor_ops,
            4.0 * rows * static_cast<double>(keys) * kernel.head_dim)
      << name;
}

// 576 patches and 2 heads (FlashAttention-4: 40). FlashAttention-3: 3 tiles of 192 rows, 4 blocks
// of 144 keys (heads of 64: 3 of 192). FlashAttention-4: 3 of 256, 5 of 128. FlashAttention-2 on
// Ada: 5 of 128, 18 of 32. SGLang's Triton there: 9 of 64, 9 of 64. TensorRT-LLM: 5 of 128, on
// Blackwell 3 of 256, 5 of 128.
TEST(EncoderAttention, TilesByKernel) {
  expect_tiles(encoder(2, 80, 1, 576), "h200-sxm", 3 * 2, 192, 4 * 144);
  expect_tiles(encoder(2, 64, 1, 576), "h200-sxm", 3 * 2, 192, 3 * 192);
  expect_tiles(encoder(40, 72, 1, 576), "b200-sxm", 3 * 40, 256, 5 * 128);  // 2 heads are split
  expect_tiles(encoder(2, 72, 1, 576), "l40s", 5 * 2, 128, 18 * 32);
  expect_tiles(encoder(2, 72, 1, 576, Framework::sglang), "l40s", 9 * 2, 64, 9 * 64);
  expect_tiles(encoder(2, 72, 1, 576, Framework::trtllm), "h100-sxm", 5 * 2, 128, 5 * 128);
  expect_tiles(encoder(2, 72, 1, 576, Framework::trtllm), "b200-sxm", 3 * 2, 256, 5 * 128);
}

// Images of 400 and 100 patches: FlashAttention-2's grid is as wide as the longest, 4 tiles of 128
// rows a head, and never splits; no query sees another image's keys: (4 x 13 + 1 x 4) steps of 32.
TEST(EncoderAttention, ImagesOfOneLaunchSeeThemselvesAlone) {
  Attention kernel = encoder(2, 72, 1, 400);
  kernel.load = AttentionLoad::exact({{400, 400}, {100, 100}});
  const Decomposition result = decompose(kernel, gpu("l40s"));
  ASSERT_EQ(result.launches.size(), 1);
  EXPECT_FALSE(result.plan->is_split);
  EXPECT_EQ(result.launches[0].shape.ctas(), 4 * 2 * 2);
  const double step = 4.0 * 128 * 32 * 72;
  EXPECT_EQ(summarise(schedule(result.launches[0], gpu("l40s"))).total.tensor_ops,
            2 * step * (4 * 13 + 4));
}

std::string family(const Attention& kernel, const char* name) {
  const EstimatorFamily* found = family_of(kernel, gpu(name));
  return found == nullptr ? "none" : std::string(found->name());
}

TEST(EncoderAttention, HasAFamilyOfItsOwn) {
  for (const char* name : {"a100-sxm", "l40s", "h100-sxm", "b200-sxm", "mi300x"}) {
    for (const Framework framework : {Framework::vllm, Framework::sglang, Framework::trtllm})
      EXPECT_EQ(family(encoder(16, 72, 2, 1024, framework), name), "attention_encoder") << name;
  }
  // Windows may leave one patch beside whole ones.
  Attention ragged = encoder(16, 80, 1, 64);
  ragged.load = AttentionLoad::exact({{64, 64}, {1, 1}});
  EXPECT_EQ(family(ragged, "h100-sxm"), "attention_encoder");
  EXPECT_EQ(family(encoder(16, 80, 1, 64, Framework::pytorch), "h100-sxm"), "attention_torch");
  EXPECT_EQ(family(encoder(16, 80, 1, 1), "b200-sxm"), "attention_encoder");
  EXPECT_EQ(family(encoder(16, 80, 1, 1, Framework::sglang), "l40s"), "attention_encoder");
  Attention causal = encoder(16, 128, 1, 64);
  causal.causal = true;
  EXPECT_EQ(family(causal, "h100-sxm"), "attention_prefill");
}

double first_order_us(const Attention& kernel, const char* name) {
  return family_of(kernel, gpu(name))->first_order(kernel, gpu(name)).time.value() * 1e6;
}

TEST(EncoderAttention, KernelsMultiplyWholeWidths) {
  const auto padding = [](int head_dim, KernelSource source) {
    Attention kernel = encoder(16, head_dim, 1, 64);
    kernel.implementation.source = source;
    return encoder_padding(kernel, attention_setting(kernel, gpu("h100-sxm")));
  };
  EXPECT_EQ(padding(64, KernelSource::flash_attention_3), 1);
  EXPECT_EQ(padding(72, KernelSource::flash_attention_3), 96.0 / 72);
  EXPECT_EQ(padding(80, KernelSource::flash_attention_4), 1);
  EXPECT_EQ(padding(72, KernelSource::flash_attention_4), 80.0 / 72);
  EXPECT_EQ(padding(72, KernelSource::triton), 128.0 / 72);
  // Long sequences are bound by products: heads of 72 cost what heads of 80 do.
  const double of_72 = first_order_us(encoder(16, 72, 4, 8192), "h100-sxm");
  EXPECT_NEAR(of_72 / first_order_us(encoder(16, 80, 4, 8192), "h100-sxm"), 1, 0.03);
  EXPECT_GT(of_72, 1.15 * first_order_us(encoder(16, 64, 4, 8192), "h100-sxm"));
}

// 8,192 patches, 16 heads, 4 images on a B200: TensorRT-LLM multiplies heads of 72 at 1,024
// operations a clock and SM, an eighth of what heads of 80 get.
TEST(EncoderAttention, TensorRtLlmFallsBackForHeadsOf72OnBlackwell) {
  const double of_72 = first_order_us(encoder(16, 72, 4, 8192, Framework::trtllm), "b200-sxm");
  EXPECT_GT(of_72, 3 * first_order_us(encoder(16, 80, 4, 8192, Framework::trtllm), "b200-sxm"));
  EXPECT_LT(first_order_us(encoder(16, 72, 4, 8192), "b200-sxm"), of_72 / 3);
}

}  // namespace
}  // namespace foretoken::encoder_attention_test
