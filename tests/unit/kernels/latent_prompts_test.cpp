// Prompts of latent attention under SGLang: expanded or absorbed, by what is cached.
#include "kernels/latent_prompts.hpp"

#include <gtest/gtest.h>

#include "hardware/gpu.hpp"
#include "kernels/estimators/mla_model.hpp"
#include "kernels/kernel_case.hpp"
#include "kernels/predictor.hpp"
#include "sim/base/json.hpp"
#include "tests/unit/kernels/default_synperf.hpp"

namespace foretoken {
namespace {

LoadSums prompts(std::int64_t tokens, std::int64_t cached) {
  LoadSums sums;
  sums.add({tokens, tokens + cached});
  return sums;
}

TEST(LatentPrompts, SglangAbsorbsBeforeFewCachedTokens) {
  EXPECT_FALSE(absorbs_cached_latents(prompts(100, 0), Framework::sglang));
  EXPECT_TRUE(absorbs_cached_latents(prompts(100, 1), Framework::sglang));
  EXPECT_TRUE(absorbs_cached_latents(prompts(100, 8191), Framework::sglang));
  EXPECT_FALSE(absorbs_cached_latents(prompts(100, 8192), Framework::sglang));
  EXPECT_FALSE(absorbs_cached_latents(prompts(100, 1), Framework::trtllm));
  EXPECT_EQ(expanded_latents(prompts(100, 8191), Framework::sglang), 100);
  EXPECT_EQ(expanded_latents(prompts(100, 8192), Framework::sglang), 8292);
  EXPECT_EQ(expanded_latents(prompts(100, 1), Framework::trtllm), 101);
}

class LatentPromptsOnHopper : public testing::Test {
 protected:
  [[nodiscard]] Prediction price(std::int64_t cached, bool is_cold = true,
                                 Framework framework = Framework::sglang) const {
    Mla mla{128};
    mla.load.prefill = prompts(8192, cached);
    mla.implementation.framework = framework;
    mla.implementation.is_cold = is_cold;
    return synperf_->predict(mla, h200_);
  }
  GpuSpec h200_ = load_gpu("h200-sxm", {});
  std::unique_ptr<Predictor> synperf_ = default_synperf();
};

// A block of an H200 with such a prompt takes 6.44 ms, 2.35 of which are its products
// (wideep_context_mla); absorbed it is 3.4 times the operations a pair.
TEST_F(LatentPromptsOnHopper, AreServedExpanded) {
  const Prediction served = price(0);
  EXPECT_NEAR(served.time.value(), 4.09e-3, 0.5e-3);
  EXPECT_EQ(served.origin, Origin::analytic) << "no table has it alone";
  EXPECT_GT(price(0, false).time / served.time, 2.5) << "as the table has it";
  EXPECT_GT(price(4096).time / served.time, 4) << "absorbed behind a chunk";
  EXPECT_LT(price(8192).time, price(4096).time);
  EXPECT_EQ(price(4096).origin, Origin::learned);
}

// 2 x 512 x 256 x 128 x 8192 = 0.275 Tflop, which vLLM's call contains and SGLang launches apart.
TEST_F(LatentPromptsOnHopper, CachedTokensAreExpandedAgain) {
  const auto around = [&](Framework framework, std::int64_t cached) {
    Mla mla{128};
    mla.load.prefill = prompts(8192, cached);
    mla.implementation = {.framework = framework, .is_cold = true};
    return estimate_mla(mla, h200_, true).rows;
  };
  const auto more = [&](Framework framework) {
    return around(framework, 8192) - around(framework, 0);
  };
  const double tensor = h200_.tensor_rate(DType::bf16).value();
  EXPECT_NEAR(more(Framework::vllm) - more(Framework::sglang), 0.2749e12 / (0.6 * tensor) * 1e6, 1);
}

// SGLang's dense steps of sparse attention: no chunk of theirs attends to latents.
TEST_F(LatentPromptsOnHopper, ThatExpandAllNeverAbsorb) {
  const auto time = [&](std::int64_t cached, bool is_cold) {
    Mla mla{.query_heads = 128, .expands_cached = true};
    mla.load.prefill = prompts(1024, cached);
    mla.implementation = {.framework = Framework::sglang, .is_cold = is_cold};
    for (const char* gpu : {"h200-sxm", "b200-sxm"}) {
      EXPECT_FALSE(estimate_mla(mla, load_gpu(gpu, {}), is_cold).is_absorbed);
    }
    return synperf_->predict(mla, h200_).time;
  };
  EXPECT_EQ(time(0, true), time(0, false));
  EXPECT_GT(time(1024, true), time(0, true));
  Mla mla{.query_heads = 128};
  mla.load.prefill = prompts(1024, 1024);
  mla.implementation = {.framework = Framework::sglang, .is_cold = true};
  EXPECT_GT(synperf_->predict(mla, h200_).time, time(1024, true)) << "absorbed";
}

TEST(LatentPrompts, CasesOfPredictNameTheirHeads) {
  const std::string_view json = R"({"kernel": "mla", "query_heads": 16, "nope_dim": 192,
      "value_dim": 256, "expands_cached": true, "query_tokens": [8], "context_tokens": [9]})";
  EXPECT_EQ(read_kernel_case(parse_json(json, {"cases.jsonl", 1})).kernel,
            Kernel(Mla{.query_heads = 16,
                       .load = AttentionLoad::exact({{8, 9}}),
                       .nope_dim = 192,
                       .value_dim = 256,
                       .expands_cached = true}));
}

// GLM-5's heads: 192 + 64 of a key and 256 of a value, 512 where DeepSeek has 320.
TEST_F(LatentPromptsOnHopper, PayForTheModelsOwnHeads) {
  Mla mla{128};
  mla.load.prefill = prompts(8192, 0);
  mla.implementation = {.framework = Framework::sglang, .is_cold = true};
  const MlaEstimate deepseek = estimate_mla(mla, h200_, true);
  mla.nope_dim = 192;
  mla.value_dim = 256;
  const MlaEstimate glm = estimate_mla(mla, h200_, true);
  EXPECT_NEAR(glm.math / deepseek.math, 512.0 / 320, 1e-9);
  EXPECT_NEAR(glm.rows / deepseek.rows, 512.0 / 320, 1e-9);
}

}  // namespace
}  // namespace foretoken
