// The attention estimator families: which kernels they cover, first-order times by hand where one
// resource dominates, and that lists of sequences and their sums are priced alike. Numbers are
// those of the H100 (132 SMs, 1.83 GHz, 3352 GB/s, 4096 operations a clock a SM) unless said.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "kernels/estimators/attention_decode_model.hpp"
#include "kernels/estimators/attention_mixed.hpp"
#include "kernels/estimators/attention_prefill_model.hpp"

namespace foretoken::estimator_attention_test {
namespace {

GpuSpec gpu(const std::string& name) { return load_gpu(name, {}); }

Attention llama(std::vector<SequenceSlice> slices, Framework framework = Framework::vllm) {
  Attention attention{32, 8, 128};
  attention.load = AttentionLoad::exact(std::move(slices));
  attention.implementation.framework = framework;
  return attention;
}

Attention decode(std::size_t sequences, std::int64_t context) {
  return llama(std::vector<SequenceSlice>(sequences, {1, context}));
}

std::string family_name(const Kernel& kernel, const GpuSpec& spec) {
  const EstimatorFamily* family = family_of(kernel, spec);
  return family == nullptr ? "none" : std::string(family->name());
}

double first_order_us(const Kernel& kernel, const GpuSpec& spec) {
  const EstimatorFamily* family = family_of(kernel, spec);
  EXPECT_NE(family, nullptr);
  return family->first_order(kernel, spec).time.value() * 1e6;
}

std::vector<float> features(const Kernel& kernel, const GpuSpec& spec) {
  const EstimatorFamily* family = family_of(kernel, spec);
  std::vector<float> values(family->feature_names().size());
  FeatureSink sink(values);
  family->features(kernel, spec, sink);
  EXPECT_EQ(sink.used(), values.size());
  return values;
}

TEST(attention_families, cover_loads_by_code) {
  const GpuSpec hopper = gpu("h100-sxm"), blackwell = gpu("b200-sxm");
  EXPECT_EQ(family_name(decode(4, 100), hopper), "attention_decode");
  EXPECT_EQ(family_name(llama({{64, 64}}), hopper), "attention_prefill");
  // One launch of FlashAttention-3 takes both; TensorRT-LLM has a kernel for each.
  EXPECT_EQ(family_name(llama({{64, 64}, {1, 100}}), hopper), "attention_prefill");
  EXPECT_EQ(family_name(llama({{64, 64}, {1, 100}}), blackwell), "none");
  EXPECT_EQ(family_name(llama({}), hopper), "none");

  Attention wide = decode(4, 100);
  wide.head_dim = 512;  // FlashAttention-4 on Hopper, TensorRT-LLM on Blackwell
  EXPECT_EQ(family_name(wide, hopper), "attention_decode_triton");
  EXPECT_EQ(family_name(wide, blackwell), "attention_decode");
  Attention named = llama({{64, 64}});
  named.implementation.source = KernelSource::triton;
  EXPECT_EQ(family_name(named, blackwell), "attention_prefill_triton");
  // Launched without a framework: whatever the batch.
  for (const auto& slices :
       {std::vector<SequenceSlice>{{1, 100}}, {{64, 64}}, {{64, 64}, {1, 9}}}) {
    Attention bare = llama(slices, Framework::pytorch);
    for (const KernelSource source :
         {KernelSource::flashinfer_fa3, KernelSource::flashinfer_decode}) {
      bare.implementation.source = source;
      EXPECT_EQ(family_name(bare, hopper), "attention_bare");
    }
    // PyTorch's own is FlashAttention-2, also where no source is named.
    for (const KernelSource source : {KernelSource::automatic, KernelSource::flash_attention_2}) {
      bare.implementation.source = source;
      EXPECT_EQ(family_name(bare, hopper), "attention_torch");
    }
  }
}

TEST(attention_families, cover_latent_attention) {
  Mla mla{16};
  mla.load = AttentionLoad::exact({{1, 1000}});
  EXPECT_EQ(family_name(mla, gpu("h200-sxm")), "mla_decode");
  mla.load = AttentionLoad::exact({{100, 1000}});
  EXPECT_EQ(family_name(mla, gpu("b200-sxm")), "mla_prefill");
  mla.load = AttentionLoad::exact({{100, 1000}, {1, 10}});
  EXPECT_EQ(family_name(mla, gpu("b200-sxm")), "none");
}

// A source that runs no attention (a MoE's, in a case by hand) is priced as FlashAttention-2, one
// that is not named as what resolve_implementation says.
TEST(attention_setting, resolves_the_source) {
  Attention attention = decode(1, 10);
  EXPECT_EQ(attention_setting(attention, gpu("h100-sxm")).code, AttentionCode::fa3);
  EXPECT_EQ(attention_setting(attention, gpu("l40s")).code, AttentionCode::fa2);
  EXPECT_EQ(attention_setting(attention, gpu("b300-sxm")).code, AttentionCode::trtllm);
  attention.implementation.framework = Framework::sglang;
  EXPECT_EQ(attention_setting(attention, gpu("l40s")).code, AttentionCode::flashinfer);
  attention.implementation.source = KernelSource::cutlass;
  EXPECT_EQ(attention_setting(attention, gpu("l40s")).code, AttentionCode::fa2);
}

// 64 sequences of 8192 tokens, 8 heads: 64 x 8192 x 8 x 128 x 2 x 2 B = 2.147 GB, far beyond the
// L2; at 0.92 of 3352 GB/s 696 us.
TEST(decode_estimate, reads_the_cache_once) {
  const GpuSpec h100 = gpu("h100-sxm");
  const Kernel kernel = decode(64, 8192);
  const auto estimate =
      estimate_decode(std::get<Attention>(kernel), attention_setting(kernel, h100), h100);
  const double cache = 64.0 * 8192 * 8 * 128 * 2 * 2, queries = 64.0 * 32 * 128 * 4;
  EXPECT_NEAR(estimate.memory, (cache + queries) / (0.92 * 3352e9) * 1e6, 0.01);
  EXPECT_NEAR(estimate.memory, 696.7, 0.2);
  EXPECT_EQ(estimate.bound, Bound::dram);
  EXPECT_GT(estimate.total, estimate.memory);
  EXPECT_LT(estimate.total, 1.2 * estimate.memory);
}

// One short sequence costs what launching costs: 10.9 us at 2 GHz, at 1.83 GHz 10.9 x 1.0736.
TEST(decode_estimate, has_a_floor) {
  const GpuSpec h100 = gpu("h100-sxm");
  const Kernel kernel = decode(1, 16);
  const auto estimate =
      estimate_decode(std::get<Attention>(kernel), attention_setting(kernel, h100), h100);
  EXPECT_NEAR(estimate.fixed, 10.9 * std::pow(2.0 / 1.83, 0.8), 1e-9);
  EXPECT_NEAR(estimate.total, estimate.fixed, 1.5);
  EXPECT_EQ(estimate.bound, Bound::launch);
}

// 8 heads of one sequence leave 132 - 8 SMs idle: each is cut into 132 / 8 = 16 parts of 1024 keys.
TEST(decode_estimate, splits_long_contexts_over_idle_sms) {
  const GpuSpec h100 = gpu("h100-sxm");
  const Kernel kernel = decode(1, 16384);
  const AttentionSetting setting = attention_setting(kernel, h100);
  EXPECT_EQ(estimate_decode(std::get<Attention>(kernel), setting, h100).splits, 16);
  // 0.39 us a block of 64 keys: 16 blocks.
  EXPECT_NEAR(estimate_decode(std::get<Attention>(kernel), setting, h100).chain, 16 * 0.39, 1e-9);
  // A window of 256 keys leaves two parts of 128.
  Attention windowed = std::get<Attention>(kernel);
  windowed.window = 256;
  EXPECT_EQ(estimate_decode(windowed, setting, h100).splits, 2);
}

// vLLM's FlashAttention-2 neither packs heads nor splits where there is a window.
TEST(decode_estimate, knows_what_flash_attention_2_does_with_a_window) {
  const GpuSpec l40s = gpu("l40s");
  Attention kernel = decode(1, 16384);
  const AttentionSetting setting = attention_setting(kernel, l40s);
  EXPECT_EQ(estimate_decode(kernel, setting, l40s).splits, 35);  // 2 x 142 / 8
  kernel.window = 8192;
  const DecodeEstimate windowed = estimate_decode(kernel, setting, l40s);
  EXPECT_EQ(windowed.splits, 1);
  EXPECT_TRUE(windowed.reads_per_query_head);
  EXPECT_NEAR(windowed.chain, 8192.0 / 64 * 1.06, 1e-9);
}

TEST(decode_estimate, window_hides_everything_before_it) {
  const GpuSpec h100 = gpu("h100-sxm");
  Attention near = decode(32, 4096), far = decode(32, 65536);
  near.window = far.window = 4096;
  EXPECT_DOUBLE_EQ(first_order_us(near, h100), first_order_us(far, h100));
  Attention open = near;
  open.window = 0;
  EXPECT_DOUBLE_EQ(first_order_us(near, h100), first_order_us(open, h100));
}

// A cache of 2 x 100 x 8 x 128 x 2 x 2 B = 0.8 MB lies in the L2 when a benchmark repeats it; a
// layer's own comes from DRAM. One of 2 GB comes from DRAM in both.
TEST(decode_estimate, cold_costs_more_only_for_small_caches) {
  const GpuSpec h100 = gpu("h100-sxm");
  const Kernel small = decode(8, 1024), large = decode(64, 8192);
  const EstimatorFamily& family = *family_of(small, h100);
  EXPECT_GT(family.cold_extra(small, h100).value(), 0.2e-6);
  EXPECT_LT(family.cold_extra(small, h100).value(), 20e-6);
  EXPECT_LT(family.cold_extra(large, h100).value(), 1e-9);
}

// One prompt of 16384 tokens, 32 heads: 16384 x 16385 / 2 pairs, 4 x 128 operations each, with
// diagonal tiles of 128 keys and 32 queries (4 heads share a tile) filled up:
// keys a query 8192.5 + 16 + 63 = 8271.5. 2.221e12 operations at 0.88 of 989.4 TFLOP/s: 2551 us.
TEST(prefill_estimate, multiplies_padded_tiles) {
  const GpuSpec h100 = gpu("h100-sxm");
  const Kernel kernel = llama({{16384, 16384}});
  const auto estimate =
      estimate_prefill(std::get<Attention>(kernel), attention_setting(kernel, h100), h100);
  const double flops = 16384.0 * 32 * 8271.5 * 4 * 128;
  EXPECT_NEAR(estimate.tensor, flops / (0.88 * 4096 * 132 * 1830e6) * 1e6, 0.01);
  EXPECT_NEAR(estimate.tensor, 2550, 5);
  EXPECT_DOUBLE_EQ(estimate.row_padding, 1);
  EXPECT_NEAR(estimate.key_padding, 8271.5 / 8192.5, 1e-9);
  EXPECT_EQ(estimate.bound, Bound::tensor);
}

// Twice the products an instruction: half the time on the tensor pipe; exponentials stay.
TEST(prefill_estimate, fp8_doubles_the_tensor_rate) {
  const GpuSpec h100 = gpu("h100-sxm");
  Attention kernel = llama({{4096, 4096}});
  const AttentionSetting setting = attention_setting(kernel, h100);
  const PrefillEstimate wide = estimate_prefill(kernel, setting, h100);
  kernel.dtype = kernel.kv_dtype = DType::fp8;
  const PrefillEstimate narrow = estimate_prefill(kernel, setting, h100);
  EXPECT_NEAR(narrow.tensor, wide.tensor / 2, 1e-9);
  EXPECT_DOUBLE_EQ(narrow.exponentials, wide.exponentials);
  EXPECT_THROW(static_cast<void>(estimate_prefill(kernel, setting, gpu("a100-sxm"))),
               PredictionError);
}

// The chunks of a prompt see all its pairs: together no cheaper than the whole, dearer by little
// more than their launches (and cached context read again).
TEST(prefill_estimate, chunks_add_up_to_the_prompt) {
  for (const char* name : {"h100-sxm", "a100-sxm", "b200-sxm", "rtx-pro-6000-server"}) {
    const GpuSpec spec = gpu(name);
    const double whole = first_order_us(llama({{16384, 16384}}), spec);
    double chunks = 0;
    for (int i = 1; i <= 4; ++i) chunks += first_order_us(llama({{4096, 4096 * i}}), spec);
    EXPECT_GT(chunks, whole) << name;
    EXPECT_LT(chunks, 1.2 * whole + 4 * 20) << name;
  }
}

// A window that covers the context hides nothing; a short one makes time linear in length.
TEST(prefill_estimate, window_clamps_keys) {
  const GpuSpec h100 = gpu("h100-sxm");
  Attention open = llama({{8192, 8192}}), covered = open, narrow = open;
  covered.window = 8192;
  narrow.window = 512;
  EXPECT_NEAR(attention_shape(covered).keys, attention_shape(open).keys, 1e-6);
  // (512 x 513 / 2 + (8192 - 512) x 512) / 8192 keys a query.
  EXPECT_NEAR(attention_shape(narrow).keys, (512.0 * 513 / 2 + 7680.0 * 512) / 8192, 1e-6);
  Attention twice = llama({{16384, 16384}});
  twice.window = 512;
  const auto tensor = [&](const Attention& kernel) {
    return estimate_prefill(kernel, attention_setting(kernel, h100), h100).tensor;
  };
  EXPECT_NEAR(tensor(twice) / tensor(narrow), 2, 0.1);
  EXPECT_GT(tensor(open), 6 * tensor(narrow));
}

TEST(attention_shape, takes_means_over_sequences) {
  const AttentionLaunch shape = attention_shape(llama({{100, 100}, {300, 1000}}));
  EXPECT_EQ(shape.sequences, 2);
  EXPECT_EQ(shape.queries, 200);
  EXPECT_EQ(shape.context, 550);
  EXPECT_EQ(shape.context_max, 1000);
  // 100 x 101 / 2 + 300 x 700 + 300 x 301 / 2 pairs of 400 queries.
  EXPECT_NEAR(shape.keys, (5050.0 + 210000 + 45150) / 400, 1e-9);
  EXPECT_EQ(shape.group, 4);
}

// A list of equal sequences and its sums are one launch.
TEST(attention_families, price_equal_lists_as_their_sums) {
  std::mt19937 random(7);
  for (int i = 0; i < 200; ++i) {
    const GpuSpec spec = gpu(std::array{"h100-sxm", "l40s", "b200-sxm", "a100-sxm"}[i % 4]);
    const auto queries = i % 2 == 0 ? 1 : 2 + static_cast<std::int64_t>(random() % 2000);
    const SequenceSlice slice{queries, queries + static_cast<std::int64_t>(random() % 8000)};
    Attention exact = llama(std::vector<SequenceSlice>(1 + random() % 64, slice),
                            i % 3 == 0 ? Framework::sglang : Framework::vllm);
    exact.window = i % 5 == 0 ? 1024 : 0;
    Attention sums = exact;
    sums.load.sequences.clear();
    EXPECT_NEAR(first_order_us(exact, spec) / first_order_us(sums, spec), 1, 1e-9);
    EXPECT_THAT(features(exact, spec),
                testing::Pointwise(testing::FloatNear(1e-4F), features(sums, spec)));
  }
}

// 31 contexts of 128 tokens and one of 60,000 are no more keys than 32 of 1,999, but one CTA (or,
// where the kernel splits, one chain of chunks) walks most of them.
TEST(attention_families, see_the_longest_sequence_of_a_list) {
  std::vector<SequenceSlice> slices(31, {1, 128});
  slices.push_back({1, 60'000});
  const Attention uneven = llama(slices);
  Attention sums = uneven;
  sums.load.sequences.clear();
  for (const char* name : {"h100-sxm", "a100-sxm", "l40s"}) {
    EXPECT_GT(first_order_us(uneven, gpu(name)), 1.05 * first_order_us(sums, gpu(name))) << name;
  }
}

TEST(attention_families, stay_finite_and_grow_with_the_context) {
  for (const char* name : {"a40", "h20", "gb300", "rtx-4090", "mi300x", "rtx-pro-6000-server"}) {
    const GpuSpec spec = gpu(name);
    for (const std::int64_t queries : {1, 2, 4096}) {
      double before = 0;
      for (const std::int64_t context : {4096, 65536, 1'048'576}) {
        const Kernel kernel = llama({{queries, context}});
        const double time = first_order_us(kernel, spec);
        EXPECT_TRUE(std::isfinite(time)) << name;
        EXPECT_GT(time, before) << name << ' ' << queries << ' ' << context;
        before = time;
        for (const float value : features(kernel, spec)) EXPECT_TRUE(std::isfinite(value));
        EXPECT_GE(family_of(kernel, spec)->cold_extra(kernel, spec).value(), 0);
      }
    }
    const Kernel single = llama({{1, 1}});
    EXPECT_TRUE(std::isfinite(first_order_us(single, spec)));
  }
}

// 32 sequences of 65536 tokens: 32 x 65536 x 576 x 2 B = 2.416 GB at 0.95 of 3352 GB/s take 759 us;
// 16 heads fill a tile of 128 rows: 2 x 1088 x 32 x 128 x 65536 operations at 0.72 of 989 TFLOP/s,
// 820 us. They overlap.
TEST(mla_families, multiply_whole_tiles_of_heads) {
  const GpuSpec h100 = gpu("h100-sxm");
  const auto time = [&](int heads) {
    Mla mla{heads};
    mla.load = AttentionLoad::exact(std::vector<SequenceSlice>(32, {1, 65536}));
    return first_order_us(mla, h100);
  };
  const double memory = 32.0 * 65536 * 576 * 2 / (0.95 * 3352e9) * 1e6;
  const double math = 2.0 * 1088 * 32 * 128 * 65536 / (0.72 * 989.4e12) * 1e6;
  EXPECT_NEAR(memory, 759, 1);
  EXPECT_NEAR(math, 820, 1);
  EXPECT_GT(time(16), math);
  EXPECT_LT(time(16), memory + math);
  // Queries and results of more heads are all that 64 of them add.
  EXPECT_LT(time(64), 1.02 * time(16));
  EXPECT_GT(time(256), 1.5 * time(16));
}

// SGLang's prompts on Hopper multiply as wide as the latent cache, 1088 instead of 320 a key; with
// an fp8 cache its decodes convert all of it first, 11 B an element.
TEST(mla_families, know_what_sglang_does_on_hopper) {
  const GpuSpec h100 = gpu("h100-sxm");
  const auto time = [&](Framework framework, SequenceSlice slice, int count, DType cache,
                        bool is_cold = true) {  // no host
    Mla mla{.query_heads = 16, .kv_dtype = cache};
    mla.implementation.framework = framework;
    mla.implementation.is_cold = is_cold;
    mla.load =
        AttentionLoad::exact(std::vector<SequenceSlice>(static_cast<std::size_t>(count), slice));
    return first_order_us(mla, h100);
  };
  const SequenceSlice prompt{16384, 16384}, decode{1, 16384};
  EXPECT_GT(time(Framework::sglang, prompt, 1, DType::bf16, false),
            3 * time(Framework::vllm, prompt, 1, DType::bf16))
      << "absorbed in its table, as it never serves them";
  EXPECT_NEAR(time(Framework::sglang, prompt, 1, DType::bf16) /
                  time(Framework::vllm, prompt, 1, DType::bf16),
              1, 0.3);
  EXPECT_GT(time(Framework::sglang, decode, 64, DType::fp8),
            3 * time(Framework::sglang, decode, 64, DType::bf16));
  EXPECT_LT(time(Framework::vllm, decode, 64, DType::fp8),
            time(Framework::vllm, decode, 64, DType::bf16));
}

// 128 sequences of 65,536 keys on an H200, with an 8-bit cache, in whole blocks: 1.65 ms (16
// heads), 3.2 (128). The table of the kernel has 3.1 for any number of heads.
TEST(mla_families, serve_up_to_64_heads_with_half_of_the_tiles) {
  const auto time = [&](int heads, bool is_cold) {
    Mla mla{.query_heads = heads, .kv_dtype = DType::fp8};
    mla.implementation = {.framework = Framework::vllm, .is_cold = is_cold};
    mla.load = AttentionLoad::exact(std::vector<SequenceSlice>(128, {1, 65536}));
    return first_order_us(mla, gpu("h200-sxm"));
  };
  EXPECT_NEAR(time(16, true), 1650, 100);
  EXPECT_NEAR(time(64, true) / time(16, true), 1, 0.03);
  EXPECT_NEAR(time(128, true), 3260, 200);
  EXPECT_NEAR(time(16, false) / time(128, false), 1, 0.1);
}

// The tables' floor is the host's: a step inside a CUDA graph does not pay it.
TEST(mla_families, leave_out_the_host_in_serving) {
  const GpuSpec h100 = gpu("h100-sxm");
  Mla mla{16};
  mla.load = AttentionLoad::exact({{1, 1000}});
  EXPECT_NEAR(first_order_us(mla, h100), 164, 1);
  mla.implementation.is_cold = true;
  EXPECT_LT(first_order_us(mla, h100), 15);
}

// TensorRT-LLM's tables are of graphs: short ones take 14 us on Hopper, warm or cold. Before it, a
// CTA walks a sequence alone: twice the keys take nearly twice as long, and eight sequences as long
// as one.
TEST(mla_families, know_what_tensorrt_llm_does_before_blackwell) {
  const auto time = [&](const char* name, int sequences, std::int64_t context, bool is_cold) {
    Mla mla{16};
    mla.implementation.framework = Framework::trtllm;
    mla.implementation.is_cold = is_cold;
    mla.load = AttentionLoad::exact(
        std::vector<SequenceSlice>(static_cast<std::size_t>(sequences), {1, context}));
    return first_order_us(mla, gpu(name));
  };
  EXPECT_NEAR(time("h200-sxm", 1, 2, false), 14, 1);
  EXPECT_EQ(time("h200-sxm", 8, 1024, false), time("h200-sxm", 8, 1024, true));
  EXPECT_LT(time("h200-sxm", 8, 1024, false), 25);
  const double walk = time("a100-sxm", 1, 32768, true);
  EXPECT_GT(walk, 1.9 * time("a100-sxm", 1, 16384, true));
  EXPECT_LT(time("a100-sxm", 8, 32768, true), 1.1 * walk);
}

// FlashAttention-2 runs a mixed step's decode sequences as prefill; the others have two prices.
TEST(split_mixed_attention, parts_go_to_families) {
  const Kernel mixed = llama({{512, 512}, {1, 4096}, {1, 4096}});
  const MixedAttention hopper = split_mixed_attention(mixed, gpu("h100-sxm"));
  EXPECT_EQ(family_name(hopper.prefill, gpu("h100-sxm")), "attention_prefill");
  EXPECT_EQ(family_name(hopper.decode, gpu("h100-sxm")), "attention_decode");
  const MixedAttention ada = split_mixed_attention(mixed, gpu("rtx-4090"));
  EXPECT_EQ(family_name(ada.decode, gpu("rtx-4090")), "attention_prefill");
  const auto& decode_part = std::get<Attention>(ada.decode);
  EXPECT_EQ(decode_part.load.prefill.sequences, 2);
  EXPECT_EQ(decode_part.load.prefill.context_tokens, 8192);
  EXPECT_GT(hopper.shared.value(), 0);
  EXPECT_LT(hopper.shared.value(), first_order_us(hopper.decode, gpu("h100-sxm")) * 1e-6);
}

}  // namespace
}  // namespace foretoken::estimator_attention_test
