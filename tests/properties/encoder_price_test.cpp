// Prices of image encoders' attention as shipped: more images and larger ones never cost less, a
// better GPU never more, whatever framework launches it.
#include <gtest/gtest.h>

#include "sim/run/run.hpp"

namespace foretoken::encoder_price_test {
namespace {

class EncoderPrice : public testing::Test {
 protected:
  [[nodiscard]] double price(Framework framework, const GpuSpec& gpu, int head_dim,
                             std::vector<SequenceSlice> images) const {
    Attention kernel{.query_heads = 16, .kv_heads = 16, .head_dim = head_dim};
    kernel.causal = false;
    kernel.page_tokens = 0;
    kernel.load = AttentionLoad::exact(std::move(images));
    kernel.implementation.framework = framework;
    return predictor_->predict(kernel, gpu).time.value() * 1e6;
  }
  [[nodiscard]] double price(Framework framework, const GpuSpec& gpu, int head_dim,
                             std::int64_t images, std::int64_t patches) const {
    return price(framework, gpu, head_dim,
                 std::vector<SequenceSlice>(static_cast<std::size_t>(images), {patches, patches}));
  }

  std::unique_ptr<Predictor> predictor_ = make_predictor(predictor_catalog(), "synperf", {});
};

constexpr Framework frameworks[] = {Framework::vllm, Framework::sglang, Framework::trtllm};

// First-order times know steps of tiles and waves; beside these 1 % is left to the networks.
TEST_F(EncoderPrice, MoreImagesAndLargerOnesNeverCostLess) {
  for (const char* name : {"a100-sxm", "l40s", "h100-sxm", "h200-sxm", "b200-sxm", "mi300x"}) {
    const GpuSpec gpu = load_gpu(name, {});
    for (const Framework framework : frameworks) {
      for (const int head_dim : {64, 72, 80, 88, 128}) {
        for (std::int64_t patches = 64; patches <= 16'384; patches *= 2) {
          double before = 0;
          for (std::int64_t images = 1; images <= 64; images *= 2) {
            const double now = price(framework, gpu, head_dim, images, patches);
            EXPECT_GE(now, 0.99 * before) << name << ' ' << enum_name(framework) << ' ' << head_dim
                                          << ' ' << images << " x " << patches;
            if (patches > 64) {
              EXPECT_GE(now, 0.99 * price(framework, gpu, head_dim, images, patches / 2))
                  << name << ' ' << enum_name(framework) << ' ' << head_dim << ' ' << images
                  << " x " << patches;
            }
            before = now;
          }
        }
      }
    }
  }
}

// A batch of a large image and small ones lies between batches of one kind.
TEST_F(EncoderPrice, UnequalImagesLieBetweenEqualOnes) {
  const GpuSpec gpu = load_gpu("h100-sxm", {});
  for (const Framework framework : frameworks) {
    const double small = price(framework, gpu, 72, 4, 1024),
                 large = price(framework, gpu, 72, 4, 4096);
    const double both =
        price(framework, gpu, 72, {{4096, 4096}, {1024, 1024}, {1024, 1024}, {1024, 1024}});
    EXPECT_GT(both, small) << enum_name(framework);
    EXPECT_LT(both, large) << enum_name(framework);
  }
}

TEST_F(EncoderPrice, ABetterGpuNeverCostsMore) {
  for (const char* name : {"l40s", "h100-sxm", "h200-sxm", "b200-sxm"}) {
    const GpuSpec known = load_gpu(name, {});
    for (const Framework framework : frameworks) {
      for (const int head_dim : {64, 72}) {
        for (const std::int64_t patches : {128, 1024, 8192}) {
          const double before = price(framework, known, head_dim, 8, patches);
          for (const double by : {1.02, 1.3, 2.0}) {
            GpuSpec better = known;
            better.name = "better";
            better.clock *= by;
            EXPECT_LE(price(framework, better, head_dim, 8, patches), 1.0001 * before) << name;
            better = known;
            better.name = "better";
            better.l2_size *= by;
            EXPECT_LE(price(framework, better, head_dim, 8, patches), 1.0001 * before) << name;
            better.dram_bandwidth *= by;
            better.l2_bandwidth *= by;
            EXPECT_LE(price(framework, better, head_dim, 8, patches), 1.0001 * before) << name;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace foretoken::encoder_price_test
