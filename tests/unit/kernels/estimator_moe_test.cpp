// The MoE families: expert loads and T by hand on a GPU with round numbers, who covers what, and
// what must hold on any GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "kernels/estimators/estimator.hpp"
#include "kernels/estimators/moe_model.hpp"
#include "kernels/estimators/triton_moe_model.hpp"
#include "kernels/expert_load.hpp"
#include "kernels/kernel_work.hpp"
#include "kernels/published_experts.hpp"
#include "kernels/tasks/decomposition.hpp"
#include "kernels/tasks/tuned_moe_shapes.hpp"

namespace foretoken::estimator_moe_test {
namespace {

FusedMoe moe_of(std::int64_t tokens, int experts, int topk, int ep = 1, DType dtype = DType::bf16) {
  FusedMoe moe;
  moe.tokens = tokens;
  moe.experts = experts;
  moe.topk = topk;
  moe.hidden = 1024;
  moe.intermediate = 512;
  moe.dtype = dtype;
  moe.ep = ep;
  moe.implementation.source = KernelSource::triton;
  return moe;
}

FusedMoe skewed(FusedMoe moe, double exponent = 1.01) {
  moe.routing = {Routing::Kind::power_law, exponent, {}};
  return moe;
}

FusedMoe from(FusedMoe moe, Framework framework, KernelSource source) {
  moe.implementation = {framework, source, false};
  return moe;
}

GpuSpec gpu_of(const std::string& name) { return load_gpu(name, {}); }

std::string family_name(const FusedMoe& moe, const GpuSpec& gpu) {
  const EstimatorFamily* family = family_of(moe, gpu);
  return family == nullptr ? "none" : std::string(family->name());
}

double price_us(const FusedMoe& moe, const GpuSpec& gpu) {
  return family_of(moe, gpu)->first_order(moe, gpu).time.value() * 1e6;
}

/// 100 SMs at 1 GHz with 2,048 16-bit operations a clock, DRAM 1 TB/s, L2 4 TB/s of 1 MB.
GpuSpec round_gpu() {
  GpuSpec gpu;
  gpu.name = "round";
  gpu.compute_capability = 90;
  gpu.sm_count = 100;
  gpu.clock = Hertz(1e9);
  gpu.tensor_ops_per_cycle_sm[static_cast<std::size_t>(DType::bf16)] = 2048;
  gpu.dram_bandwidth = BytesPerSecond(1e12);
  gpu.l2_bandwidth = BytesPerSecond(4e12);
  gpu.l2_size = Bytes(1e6);
  gpu.shared_size_sm = Bytes(100 * 1024);
  gpu.registers_sm = 65536;
  gpu.threads_sm = 2048;
  gpu.ctas_sm = 32;
  return gpu;
}

constexpr TritonMoeConstants plain{.launch_cycles_vllm = 10e3,
                                   .launch_cycles_sglang = 20e3,
                                   .launch_cycles_sglang_routed = 30e3,
                                   .dram_share = 1,
                                   .narrow_share = 0.5,
                                   .l2_share = 1,
                                   .issue_16_rows = 1,
                                   .issue_64x64 = 1,
                                   .issue_large = 1,
                                   .load_share = 0,
                                   .step_cycles = 100,
                                   .overlap = 2,
                                   .empty_cycles = 1000,
                                   .zeroed_share = 1,
                                   .handed_on = 1,
                                   .handed_on_sm = 0,
                                   .unaligned_rows = 1};

TEST(ExpertLoadTest, BalancedByHand) {
  // 10 tokens x 2 = 20 assignments over 8 experts: four with 3, four with 2. Dealt to 2 ranks in
  // turn each has two and two: 10 assignments.
  const ExpertLoad load = busiest_rank_load(moe_of(10, 8, 2, 2));
  EXPECT_DOUBLE_EQ(load.held, 4);
  EXPECT_DOUBLE_EQ(load.active, 4);
  EXPECT_DOUBLE_EQ(load.assignments, 10);
  EXPECT_DOUBLE_EQ(load.largest, 3);
  EXPECT_DOUBLE_EQ(load.tiles_of(16), 4);  // one a expert: none has more than 16
}

TEST(ExpertLoadTest, BalancedClosedFormEqualsTheCounts) {
  for (const int experts : {1, 4, 8, 60}) {
    for (const int ep : {1, 2, 4}) {
      if (experts % ep != 0) continue;
      for (std::int64_t tokens = 0; tokens < 70; ++tokens) {
        FusedMoe moe = moe_of(tokens, experts, 1, ep);
        const ExpertLoad closed = busiest_rank_load(moe);
        moe.routing = {Routing::Kind::balancedness, 1.0, {}};  // the same, by the general way
        const ExpertLoad walked = busiest_rank_load(moe);
        ASSERT_EQ(closed.assignments, walked.assignments) << experts << " " << ep << " " << tokens;
        ASSERT_EQ(closed.active, walked.active) << experts << " " << ep << " " << tokens;
      }
    }
  }
}

TEST(ExpertLoadTest, RowsAreTheLoadsOfTheSameRank) {
  FusedMoe given = moe_of(20, 4, 1, 2);
  given.routing = {Routing::Kind::histogram, 0, {1, 0, 17, 2}};
  EXPECT_EQ(busiest_rank_rows(given), (std::vector<std::int64_t>{17, 2}));
  EXPECT_EQ(busiest_rank_rows(moe_of(10, 8, 2, 2)), (std::vector<std::int64_t>{3, 3, 2, 2}));
  for (const int ep : {1, 4}) {
    const FusedMoe moe = skewed(moe_of(1000, 64, 8, ep));
    const ExpertLoad load = busiest_rank_load(moe);
    const auto rows = busiest_rank_rows(moe);
    EXPECT_EQ(static_cast<double>(rows.size()), load.held);
    const auto sum = std::accumulate(rows.begin(), rows.end(), std::int64_t{0});
    EXPECT_NEAR(static_cast<double>(sum), load.assignments, 0.01 * load.assignments);
  }
}

TEST(ExpertLoadTest, HistogramKeepsItsRanks) {
  FusedMoe moe = moe_of(20, 4, 1, 2);
  moe.routing = {Routing::Kind::histogram, 0, {1, 0, 17, 2}};
  const ExpertLoad load = busiest_rank_load(moe);  // experts 2 and 3
  EXPECT_DOUBLE_EQ(load.assignments, 19);
  EXPECT_DOUBLE_EQ(load.active, 2);
  EXPECT_DOUBLE_EQ(load.tiles_of(16), 3);  // 17 rows take two
}

TEST(ExpertLoadTest, PowerLawKeepsEveryAssignmentOnOneRank) {
  for (const std::int64_t tokens : {1, 7, 64, 1000, 65536}) {
    const ExpertLoad load = busiest_rank_load(skewed(moe_of(tokens, 256, 8)));
    EXPECT_NEAR(load.assignments, static_cast<double>(tokens * 8), 1e-6 * tokens * 8 + 1e-9);
    EXPECT_LE(load.largest, static_cast<double>(tokens));
  }
}

TEST(ExpertLoadTest, PowerLawOfExponentOneIsLogUniform) {
  // Loads are low * (high / low)^u with high / low = 0.8 * 1000: the middle expert has sqrt(800) of
  // the least, the mean is (800 - 1) / ln 800 = 119.5 of it, the greatest 800. Of 8,000 assignments
  // over 64 experts (125 on average) the greatest gets about 125 * 800 / 119.5 = 837, at the
  // quantile 127/128 of the grid 800^(-1/128) = 0.949 of that.
  const ExpertLoad load = busiest_rank_load(skewed(moe_of(1000, 64, 8), 1.0));
  EXPECT_NEAR(load.largest, 837 * 0.949, 8);
}

TEST(ExpertLoadTest, SkewNeverLightensTheBusiestRank) {
  for (const int ep : {1, 2, 8, 32}) {
    for (const std::int64_t tokens : {1, 16, 256, 4096}) {
      const ExpertLoad even = busiest_rank_load(moe_of(tokens, 128, 8, ep));
      const ExpertLoad uneven = busiest_rank_load(skewed(moe_of(tokens, 128, 8, ep)));
      EXPECT_GE(uneven.assignments, even.assignments - 1e-9) << tokens << " tokens, ep " << ep;
      EXPECT_LE(uneven.active, even.active + 1e-9) << tokens << " tokens, ep " << ep;
    }
  }
}

TEST(TritonMoeModelTest, AddsUpByHand) {
  // 8 tokens to each of 8 experts (topk 8 of 8), vLLM: 8 tokens <= 32 take tiles of 16 rows x 64
  // columns with steps of 64.
  const TritonMoeModel model = triton_moe_model(moe_of(8, 8, 8), round_gpu(), plain);
  EXPECT_EQ(model.tile.rows, 16);
  EXPECT_EQ(model.tile.columns, 64);
  // One row of tiles an expert: up 8 x (2 x 512 / 64) = 128 CTAs over k = 1024, down 8 x (1024 /
  // 64) = 128 over 512.
  EXPECT_DOUBLE_EQ(model.ctas_up, 128);
  EXPECT_DOUBLE_EQ(model.ctas_down, 128);
  // A CTA's stages take 3 x (16 + 64) x 64 x 2 B + 1 KB = 31 KiB of 100: 3 at a time.
  EXPECT_DOUBLE_EQ(model.resident, 3);
  // A step is 2 x 16 x 64 x 64 / 2048 = 64 clocks; 1.28 CTAs a SM take 81.9, less than the latency
  // of 100. 16 steps up and 8 down: 2,400 clocks at 1 GHz.
  EXPECT_DOUBLE_EQ(model.mma, 64);
  EXPECT_NEAR(model.math * 1e6, 2.4, 1e-9);
  // Each expert has 3 x 1024 x 512 x 2 B = 3.146 MB; 25.17 MB at 1 TB/s, nothing stays in 1 MB.
  EXPECT_NEAR(model.weights * 1e6, 25.166, 1e-3);
  EXPECT_NEAR(model.launch * 1e6, 10, 1e-9);
  EXPECT_EQ(model.empty, 0);
  // In and out 2 x 8 x 1024 x 2 B = 32.8 KB at 1 TB/s. 64 rows of 2 x 512 + 1024 written, 64 rows
  // of 3 x 512 + 1024 passed on: 589,824 B. The largest buffer, 64 x 1536 x 2 B = 0.197 MB, is
  // 0.219 of the 0.9 MB edge: 0.9977 stay in the L2.
  EXPECT_NEAR(model.handed_on * 1e6, 0.0328 + 0.5898 * (0.9977 / 4 + 0.0023), 1e-3);
  EXPECT_NEAR(model.time() * 1e6,
              10 + model.handed_on * 1e6 + std::sqrt(25.166 * 25.166 + 2.4 * 2.4), 1e-3);
  EXPECT_EQ(model.bound(), Bound::dram);
}

TEST(TritonMoeModelTest, RoundsOfResidentTilesFollowEachOther) {
  // 1,000 tokens to each of 8 experts, vLLM: tiles of 128 x 128, steps of 64: 1,024 clocks. Rows: 8
  // tiles an expert. Up 64 x 8 = 512 CTAs, down 64 x 8 = 512, one a SM at a time (97 KiB of 100):
  // 5 full rounds and 0.12 of one, which is a whole one: 6 x 1,024 clocks x (16 + 8) steps.
  const TritonMoeModel model = triton_moe_model(moe_of(1000, 8, 8), round_gpu(), plain);
  EXPECT_DOUBLE_EQ(model.resident, 1);
  EXPECT_NEAR(model.math * 1e6, 6 * 1024 * 24 * 1e-3, 1e-6);
}

TEST(TritonMoeModelTest, OtherRanksTilesStartAndEnd) {
  // 64 tokens x 4 over 64 experts, 4 each, 16 of them here: of 64 row tiles (tokens <= 96: 32 rows)
  // 48 are other ranks'. Up 2 x 512 / 64 = 16 columns of tiles, down 16: 1,536 CTAs of 1,000 clocks
  // on 100 SMs.
  const TritonMoeModel model = triton_moe_model(moe_of(64, 64, 4, 4), round_gpu(), plain);
  EXPECT_DOUBLE_EQ(model.empty_ctas, 1536);
  EXPECT_NEAR(model.empty * 1e6, 15.36, 1e-9);
}

TEST(TritonMoeModelTest, FrameworksTileByTheirOwnRules) {
  const auto tile = [](Framework framework, std::int64_t tokens, DType dtype = DType::bf16) {
    const FusedMoe moe = from(moe_of(tokens, 64, 2, 1, dtype), framework, KernelSource::triton);
    return triton_moe_model(moe, gpu_of("h200-sxm"), plain).tile;
  };
  EXPECT_EQ(tile(Framework::vllm, 96).rows, 32);
  EXPECT_EQ(tile(Framework::vllm, 513).rows, 128);
  EXPECT_EQ(tile(Framework::vllm, 65, DType::fp8_block).rows, 64);
  EXPECT_EQ(tile(Framework::sglang, 64).rows, 16);  // not more tokens than experts
  EXPECT_EQ(tile(Framework::sglang, 65).rows, 64);
  EXPECT_EQ(tile(Framework::sglang, 65).depth, 32);
  // A100's tables are of vLLM 0.14, which had SGLang's rule; servers run today's.
  FusedMoe moe = from(moe_of(8, 4, 2), Framework::vllm, KernelSource::triton);
  EXPECT_EQ(triton_moe_model(moe, gpu_of("a100-sxm"), plain).tile.rows, 64);
  moe.implementation.is_cold = true;
  EXPECT_EQ(triton_moe_model(moe, gpu_of("a100-sxm"), plain).tile.rows, 16);
}

TEST(TritonMoeModelTest, TunedShapesTakeTilesOfTheirRows) {
  EXPECT_TRUE(is_tuned_moe_shape(Framework::vllm, "h200-sxm", 128, 384));
  EXPECT_TRUE(is_tuned_moe_shape(Framework::sglang, "h200-sxm", 512, 128));
  EXPECT_FALSE(is_tuned_moe_shape(Framework::vllm, "h200-sxm", 512, 128));  // SGLang's own
  EXPECT_FALSE(is_tuned_moe_shape(Framework::vllm, "my-gpu", 128, 384));
  FusedMoe moe = moe_of(1024, 128, 8);  // 64 rows an expert
  moe.intermediate = 384;
  const TritonMoeModel tuned = triton_moe_model(moe, gpu_of("h200-sxm"), plain);
  EXPECT_TRUE(tuned.tile.is_tuned);
  EXPECT_EQ(tuned.tile.rows, 64);
  EXPECT_EQ(triton_moe_model(moe, gpu_of("b200-sxm"), plain).tile.rows, 128);  // vLLM's default
}

TEST(TritonMoeModelTest, OnlySomeTablesMultiplyRemoteRows) {
  FusedMoe mixtral = moe_of(1000, 8, 2, 8);
  mixtral.hidden = 4096;
  mixtral.intermediate = 14336;
  mixtral.implementation.framework = Framework::sglang;
  const GpuSpec h200 = gpu_of("h200-sxm");
  EXPECT_TRUE(multiplies_remote_rows(mixtral, h200));
  // 250 of 1,000 tokens have an expert here; all their 500 pairs are multiplied.
  const TritonMoeModel model = triton_moe_model(mixtral, h200, plain);
  EXPECT_DOUBLE_EQ(model.tokens_run, 250);
  EXPECT_DOUBLE_EQ(model.rows_run, 500);
  FusedMoe other = mixtral;
  other.implementation.framework = Framework::vllm;
  EXPECT_FALSE(multiplies_remote_rows(other, h200));
  other = mixtral;
  other.implementation.is_cold = true;
  EXPECT_FALSE(multiplies_remote_rows(other, h200));
  other = mixtral;
  other.intermediate = 4096;
  EXPECT_FALSE(multiplies_remote_rows(other, h200));
  EXPECT_TRUE(multiplies_remote_rows(other, gpu_of("a100-sxm")));
}

TEST(MoeModelTest, NemotronHasNoGate) {
  FusedMoe moe = moe_of(16, 128, 6);
  moe.hidden = 2688;
  moe.intermediate = 1856;
  EXPECT_TRUE(are_published_without_gate(moe));
  moe.ungated = true;
  EXPECT_FALSE(has_gate(moe, gpu_of("h200-sxm")));
  EXPECT_TRUE(has_gate(moe, gpu_of("a100-sxm")));  // as its tables measured it
  moe.implementation.is_cold = true;
  EXPECT_FALSE(has_gate(moe, gpu_of("a100-sxm")));
  moe.intermediate = 1536;
  EXPECT_FALSE(are_published_without_gate(moe));
  moe.ungated = false;
  EXPECT_TRUE(has_gate(moe, gpu_of("h200-sxm")));
}

TEST(EstimatorMoe, CoversBySourceAndWidth) {
  const GpuSpec h200 = gpu_of("h200-sxm"), b200 = gpu_of("b200-sxm");
  struct Case {
    Framework framework;
    KernelSource source;
    DType dtype;
    const GpuSpec& gpu;
    std::string_view family;
  };
  using enum KernelSource;
  for (const Case& c : {
           Case{Framework::vllm, triton, DType::bf16, h200, "moe_triton_16bit"},
           Case{Framework::sglang, triton, DType::fp16, b200, "moe_triton_16bit"},
           Case{Framework::vllm, triton, DType::fp8, h200, "moe_triton_8bit"},
           Case{Framework::sglang, triton, DType::fp8_block, b200, "moe_triton_8bit"},
           Case{Framework::vllm, trtllm, DType::nvfp4, b200, "moe_trtllm"},
           Case{Framework::vllm, trtllm, DType::bf16, b200, "moe_trtllm"},
           Case{Framework::vllm, cutlass, DType::fp8_block, h200, "moe_cutlass"},
           Case{Framework::vllm, deep_gemm, DType::fp8_block, h200, "moe_deep_gemm"},
           Case{Framework::trtllm, deep_gemm, DType::fp8_block, b200, "moe_cutlass_trtllm"},
           Case{Framework::sglang, deep_gemm_routed, DType::fp8_block, b200,
                "moe_deep_gemm_routed"},
           Case{Framework::vllm, automatic, DType::bf16, h200, "moe_triton_16bit"},
           Case{Framework::vllm, automatic, DType::nvfp4, b200, "moe_trtllm"},
           Case{Framework::vllm, triton, DType::fp32, h200, "none"},
       }) {
    const FusedMoe moe = from(moe_of(16, 64, 4, 1, c.dtype), c.framework, c.source);
    EXPECT_EQ(family_name(moe, c.gpu), c.family) << enum_name(c.source) << enum_name(c.dtype);
  }
}

// DeepGEMM in vLLM multiplies room for every expert: 128 experts x 127 rows and 16 tokens x 8 pairs
// are 16,384 rows, 128 tiles of 128, whoever has work. Few tokens cost as many, and a rank of many
// multiplies the pairs of all.
TEST(EstimatorMoe, DeepGemmMultipliesRoomForAllExperts) {
  const GpuSpec h200 = gpu_of("h200-sxm");
  const auto layer = [&](std::int64_t tokens, KernelSource source, int ep = 1) {
    FusedMoe moe = moe_of(tokens, 128, 8, ep, DType::fp8_block);
    moe.hidden = 4096;
    moe.intermediate = 768;
    return from(moe, Framework::vllm, source);
  };
  const FusedMoe few = layer(16, KernelSource::deep_gemm);
  EXPECT_DOUBLE_EQ(contiguous_rows(few, busiest_rank_load(few)), 16384);
  const Decomposition tasks = decompose(few, h200);
  const auto up = std::ranges::find(tasks.launches, "moe_gate_up", &Launch::name);
  ASSERT_NE(up, tasks.launches.end());
  EXPECT_EQ(up->task_count(), 128 * 2 * 768 / 128);
  const FusedMoe spread = layer(16, KernelSource::deep_gemm, 8);
  EXPECT_DOUBLE_EQ(contiguous_rows(spread, busiest_rank_load(spread)), 17 * 128);

  EXPECT_LT(price_us(layer(64, KernelSource::deep_gemm), h200), 1.3 * price_us(few, h200));
  EXPECT_GT(price_us(few, h200), 1.3 * price_us(layer(16, KernelSource::triton), h200));
  EXPECT_LT(price_us(layer(8192, KernelSource::deep_gemm), h200),
            price_us(layer(8192, KernelSource::triton), h200));
}

// vllm-project/vllm#13932: DeepSeek-V3's layer of 128 tokens on an H100 takes 6,355 us on one rank
// and 3,745 on two. The difference is products and streaming of half the experts' columns: what
// sorts the rows is the same in both.
TEST(EstimatorMoe, DeepGemmsProductsTakeWhatIsPublished) {
  FusedMoe layer = moe_of(128, 256, 8, 1, DType::fp8_block);
  layer.hidden = 7168;
  layer.intermediate = 2048;
  layer.implementation = {Framework::vllm, KernelSource::deep_gemm, true};
  const double whole = price_us(layer, gpu_of("h100-sxm"));
  layer.tp = 2;
  EXPECT_NEAR(whole - price_us(layer, gpu_of("h100-sxm")), 6355 - 3745, 0.15 * (6355 - 3745));
}

// AIConfigurator's wideep_generation_moe_perf, medians of power laws (us): DeepSeek-V3's experts in
// SGLang behind DeepEP's low-latency kernels, tokens of all ranks.
TEST(EstimatorMoe, RoutedRowsTakeWhatWasMeasured) {
  struct Row {
    const char* gpu;
    int ranks;
    std::int64_t tokens;
    double us;
  };
  for (const Row& row : {Row{"h100-sxm", 4, 256, 965}, Row{"h100-sxm", 16, 256, 254},
                         Row{"h100-sxm", 64, 512, 89}, Row{"b200-sxm", 4, 256, 467},
                         Row{"b200-sxm", 16, 256, 138}, Row{"b200-sxm", 64, 512, 51}}) {
    FusedMoe layer = moe_of(row.tokens, 256, 8, row.ranks, DType::fp8_block);
    layer.hidden = 7168;
    layer.intermediate = 2048;
    layer.implementation = {Framework::sglang, KernelSource::deep_gemm_routed, true};
    EXPECT_NEAR(price_us(layer, gpu_of(row.gpu)), row.us, 0.12 * row.us)
        << row.gpu << ", " << row.ranks << " ranks";
    const double before = price_us(layer, gpu_of(row.gpu));
    layer.tokens *= 4;
    EXPECT_GE(price_us(layer, gpu_of(row.gpu)), before);
  }
}

TEST(EstimatorMoe, AFormatWithoutAPathIsAnError) {
  const FusedMoe moe = moe_of(16, 64, 4, 1, DType::fp8);
  try {
    static_cast<void>(price_us(moe, gpu_of("a100-sxm")));
    FAIL() << "no error";
  } catch (const PredictionError& error) {
    EXPECT_STREQ(error.what(), "fused_moe in fp8: a100-sxm has no matrix path for fp8");
  }
}

// Hopper has no 4-bit path: mxfp4 experts cost the weights' bytes in decode and 16-bit products in
// prefill, so they beat bf16 where memory decides and do not lose much where it does not.
TEST(EstimatorMoe, FourBitExpertsAreUnpackedWhereThereIsNoPath) {
  const GpuSpec h200 = gpu_of("h200-sxm");
  EXPECT_EQ(product_format(DType::mxfp4, h200), DType::bf16);
  EXPECT_EQ(product_format(DType::mxfp4, gpu_of("b200-sxm")), DType::mxfp4);
  EXPECT_EQ(product_format(DType::fp8, gpu_of("a100-sxm")), DType::fp8);
  EXPECT_LT(price_us(moe_of(16, 32, 4, 1, DType::mxfp4), h200),
            price_us(moe_of(16, 32, 4, 1, DType::bf16), h200));
}

// Engines pad MXFP4 experts to 64 as they load them: narrower ranks are no slower for it.
TEST(EstimatorMoe, FourBitExpertsAreAsWideAsTheyAreStored) {
  const GpuSpec gpu = gpu_of("h100-sxm");
  const auto gpt_oss_us = [&](std::int64_t intermediate, int tp, DType dtype) {
    FusedMoe moe = from(moe_of(32, 128, 4, 1, dtype), Framework::vllm, KernelSource::automatic);
    moe.hidden = 2880;
    moe.intermediate = intermediate;
    moe.tp = tp;
    return price_us(moe, gpu);
  };
  EXPECT_EQ(gpt_oss_us(2880, 8, DType::mxfp4), gpt_oss_us(3072, 8, DType::mxfp4));  // 360: 384
  EXPECT_EQ(gpt_oss_us(3072, 8, DType::mxfp4), gpt_oss_us(2960, 8, DType::mxfp4));  // 370: 384
  EXPECT_LT(gpt_oss_us(2880, 8, DType::mxfp4), gpt_oss_us(2880, 4, DType::mxfp4));
  EXPECT_NE(gpt_oss_us(2880, 8, DType::bf16), gpt_oss_us(3072, 8, DType::bf16));
}

TEST(EstimatorMoe, FeaturesAreFiniteAtTheExtremes) {
  for (const char* name : {"a100-sxm", "h200-sxm", "b200-sxm", "rtx-4090", "rtx-pro-6000-server"}) {
    const GpuSpec gpu = gpu_of(name);
    for (const std::int64_t tokens : {std::int64_t{1}, std::int64_t{1'000'000}}) {
      for (const int ep : {1, 32, 512}) {
        for (const double exponent : {0.0, 1.0, 1.01, 2.0, 64.0}) {
          const FusedMoe moe = skewed(moe_of(tokens, 512, 8, ep), exponent);
          const EstimatorFamily& family = *family_of(moe, gpu);
          const double time = family.first_order(moe, gpu).time.value();
          EXPECT_TRUE(std::isfinite(time) && time > 0) << name << tokens << ep << exponent;
          std::array<float, 64> values;
          FeatureSink sink(values);
          family.features(moe, gpu, sink);
          EXPECT_EQ(sink.used(), family.feature_names().size());
          for (std::size_t i = 0; i < sink.used(); ++i) {
            EXPECT_TRUE(std::isfinite(values[i]))
                << family.feature_names()[i] << " " << name << " " << tokens << " " << exponent;
          }
        }
      }
    }
  }
}

TEST(EstimatorMoe, MoreTokensTakeLongerAndExpertParallelismLess) {
  const GpuSpec gpu = gpu_of("h200-sxm");
  EXPECT_GT(price_us(moe_of(4096, 128, 8), gpu), price_us(moe_of(512, 128, 8), gpu));
  EXPECT_LT(price_us(moe_of(4096, 128, 8, 8), gpu), price_us(moe_of(4096, 128, 8), gpu));
  EXPECT_GE(price_us(skewed(moe_of(4096, 128, 8, 8)), gpu), price_us(moe_of(4096, 128, 8, 8), gpu));
}

TEST(EstimatorMoe, OnlyWeightsThatFitTheL2CostMoreCold) {
  const GpuSpec gpu = gpu_of("l40s");                                     // 96 MiB of L2
  const FusedMoe small = moe_of(1, 128, 8), large = moe_of(512, 128, 8);  // 25 MB, 403 MB
  const EstimatorFamily& family = *family_of(small, gpu);
  // 25.2 MB: from DRAM at 0.82 of 864 GB/s 35.5 us, from the L2 at 0.7 of 5.725 TB/s 6.3 us.
  EXPECT_NEAR(family.cold_extra(small, gpu).value() * 1e6, 35.5 - 6.3, 0.2);
  EXPECT_NEAR(family.cold_extra(large, gpu).value() * 1e6, 0, 0.1);
}

}  // namespace
}  // namespace foretoken::estimator_moe_test
