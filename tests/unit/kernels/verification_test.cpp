// Attention of decodes that verify drafts: several queries a sequence on the kernels that engines
// run for it, priced continuously from decodes of one query.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/estimators/attention_decode_model.hpp"
#include "kernels/estimators/attention_mixed.hpp"
#include "kernels/estimators/estimator.hpp"
#include "kernels/kernel_work.hpp"
#include "kernels/predictor.hpp"

namespace foretoken::verification_test {
namespace {

GpuSpec gpu(const std::string& name) { return load_gpu(name, {}); }

std::vector<SequenceSlice> slices(std::size_t sequences, std::int64_t drafts,
                                  std::int64_t context) {
  return std::vector<SequenceSlice>(sequences, {1 + drafts, context + drafts});
}

Attention llama(std::size_t sequences, std::int64_t drafts, std::int64_t context,
                Framework framework = Framework::vllm) {
  Attention attention{16, 2, 128};
  attention.load = AttentionLoad::exact(slices(sequences, drafts, context), 1 + drafts);
  attention.implementation = {.framework = framework, .is_cold = true};
  return attention;
}

Mla deepseek(std::size_t sequences, std::int64_t drafts, std::int64_t context) {
  Mla mla{16};
  mla.load = AttentionLoad::exact(slices(sequences, drafts, context), 1 + drafts);
  mla.implementation.is_cold = true;
  return mla;
}

std::string family_name(const Kernel& kernel, const GpuSpec& spec) {
  const EstimatorFamily* family = family_of(kernel, spec);
  return family == nullptr ? "none" : std::string(family->name());
}

double price_us(const Kernel& kernel, const GpuSpec& spec) {
  static const auto predictor = [] {
    Diagnostics diagnostics;
    const Value none;
    TableReader options(none, diagnostics, "");
    return predictor_catalog().find("synperf", {}).make(options);
  }();
  return predictor->predict(kernel, spec).time.value() * 1e6;
}

TEST(Verification, CountsAsDecode) {
  const AttentionLoad load = AttentionLoad::exact({{4, 100}, {4, 50}, {512, 512}}, 4);
  EXPECT_EQ(load.decode.sequences, 2);
  EXPECT_EQ(load.decode.query_tokens, 8);
  EXPECT_EQ(load.prefill.sequences, 1);
  EXPECT_TRUE(load.verifies_drafts());
  EXPECT_TRUE(load.is_decode({4, 100}));
  EXPECT_FALSE(load.is_decode({512, 512}));
  EXPECT_FALSE(AttentionLoad::exact({{1, 100}, {4, 50}}).verifies_drafts());
}

TEST(Verification, RunsOnTheKernelThatEnginesRun) {
  EXPECT_EQ(family_name(llama(8, 3, 1000), gpu("h200-sxm")), "attention_decode");
  EXPECT_EQ(family_name(llama(8, 3, 1000), gpu("b200-sxm")), "attention_decode");
  EXPECT_EQ(family_name(llama(8, 3, 1000, Framework::sglang), gpu("a100-sxm")), "attention_decode");
  // vLLM's FlashAttention-2 packs and splits for single queries only; FlashInfer and Triton take
  // their prefill kernels.
  EXPECT_EQ(family_name(llama(8, 3, 1000), gpu("a100-sxm")), "attention_prefill");
  EXPECT_EQ(family_name(llama(8, 3, 1000, Framework::sglang), gpu("l40s")), "attention_prefill");
  EXPECT_EQ(family_name(llama(8, 3, 1000), gpu("mi300x")), "attention_prefill_triton");
  EXPECT_EQ(family_name(deepseek(8, 3, 1000), gpu("h200-sxm")), "mla_decode");
  EXPECT_EQ(family_name(deepseek(8, 3, 1000), gpu("a100-sxm")), "mla_prefill");
}

// Queries are rows beside the query heads: 2 of 16 heads on 2 KV heads are 32 heads on 2 KV heads.
TEST(Verification, IsADecodeOfMoreQueryHeads) {
  const Attention verification = llama(8, 1, 999);
  Attention wide = verification;
  wide.query_heads *= 2;
  wide.load = AttentionLoad::exact(slices(8, 0, 1000));
  const GpuSpec spec = gpu("h200-sxm");
  const AttentionSetting setting = attention_setting(verification, spec);
  EXPECT_DOUBLE_EQ(estimate_decode(verification, setting, spec).total_cold,
                   estimate_decode(wide, setting, spec).total_cold);
}

TEST(Verification, WithoutDraftsIsDecode) {
  for (const char* name : {"h200-sxm", "b200-sxm", "a100-sxm", "l40s"}) {
    Attention decode{16, 2, 128};
    decode.load = AttentionLoad::exact(slices(8, 0, 1000));
    decode.implementation.is_cold = true;
    EXPECT_EQ(price_us(llama(8, 0, 1000), gpu(name)), price_us(decode, gpu(name))) << name;
  }
}

// The cache is read once whatever the number of queries: on Hopper and Blackwell a few drafts add
// little, nowhere do they take anything off, and all of them cost less than one decode each.
TEST(Verification, CostsMoreThanADecodeAndLessThanSeveral) {
  for (const char* name : {"h200-sxm", "b200-sxm", "h100-sxm", "l40s", "a100-sxm"}) {
    const GpuSpec spec = gpu(name);
    for (const std::size_t sequences : {1, 8, 128}) {
      const double decode = price_us(llama(sequences, 0, 2000), spec);
      double before = decode;
      for (const std::int64_t drafts : {1, 2, 3, 5, 7}) {
        const double verification = price_us(llama(sequences, drafts, 2000), spec);
        EXPECT_GE(verification, 0.97 * before) << name << " " << sequences << "+" << drafts;
        before = verification;
        if (spec.compute_capability < 90) continue;
        EXPECT_LT(verification, 1.35 * decode) << name << " " << sequences << "+" << drafts;
      }
    }
  }
  const GpuSpec spec = gpu("h200-sxm");
  const double decode = price_us(deepseek(64, 0, 4000), spec);
  EXPECT_GE(price_us(deepseek(64, 1, 4000), spec), decode);
  EXPECT_LT(price_us(deepseek(64, 1, 4000), spec), 1.6 * decode);
}

TEST(Verification, ListsAndSumsArePricedAlike) {
  for (const char* name : {"h200-sxm", "b200-sxm", "l40s"}) {
    const Attention listed = llama(16, 3, 1500);
    Attention summed = listed;
    summed.load.sequences.clear();
    EXPECT_DOUBLE_EQ(price_us(listed, gpu(name)), price_us(summed, gpu(name))) << name;
    EXPECT_EQ(kernel_work(listed), kernel_work(summed));
  }
}

// A mixed step is a prompt and a verification, each by what runs it, less what one launch shares.
TEST(Verification, MixesWithPrompts) {
  const GpuSpec spec = gpu("h200-sxm");
  Attention mixed = llama(8, 3, 1000);
  std::vector<SequenceSlice> all = mixed.load.sequences;
  all.push_back({512, 512});
  mixed.load = AttentionLoad::exact(all, 4);
  Attention prompt = mixed;
  prompt.load = AttentionLoad::exact({{512, 512}});
  const double verification = price_us(llama(8, 3, 1000), spec);
  const double together = price_us(mixed, spec);
  EXPECT_GT(together, std::max(verification, price_us(prompt, spec)));
  EXPECT_LE(together, verification + price_us(prompt, spec));
}

TEST(Verification, IsBoundedByDecodesOfOneQuery) {
  const auto single = without_drafts(llama(8, 3, 1000));
  ASSERT_TRUE(single.has_value());
  const AttentionLoad& load = std::get<Attention>(*single).load;
  EXPECT_EQ(load.decode.query_tokens, 8);
  EXPECT_EQ(load.decode.context_tokens, 8 * 1003);
  EXPECT_EQ(load.decode.causal_pairs, 8.0 * 1003);
  EXPECT_FALSE(without_drafts(llama(8, 0, 1000)).has_value());
  EXPECT_FALSE(without_drafts(Gemm{}).has_value());
}

}  // namespace
}  // namespace foretoken::verification_test
