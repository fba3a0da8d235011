// The gemm families: T by hand on a GPU with round numbers, and what must hold on any GPU.
#include <gmock/gmock.h>

#include <cmath>

#include "kernels/estimators/estimator.hpp"
#include "kernels/estimators/gemm_model.hpp"

namespace foretoken::estimator_gemm_test {
namespace {

constexpr DType formats[] = {DType::bf16,      DType::fp16,  DType::fp8,  DType::int8,
                             DType::fp8_block, DType::nvfp4, DType::mxfp4};

Gemm gemm_of(std::int64_t m, std::int64_t n, std::int64_t k, DType dtype = DType::bf16,
             Framework framework = Framework::vllm) {
  Gemm gemm{.m = m, .n = n, .k = k, .dtype = dtype};
  gemm.implementation.framework = framework;
  return gemm;
}

GpuSpec gpu_of(const std::string& name) { return load_gpu(name, {}); }

bool has_path(const GpuSpec& gpu, DType dtype) { return gpu.tensor_rate(dtype).value() > 0; }

double price_us(const Gemm& gemm, const GpuSpec& gpu) {
  return family_of(gemm, gpu)->first_order(gemm, gpu).time.value() * 1e6;
}

/// 100 SMs at 1 GHz with 2,048 fp8 operations a clock, DRAM 1 TB/s, L2 10 TB/s, no power limit.
GpuSpec round_gpu() {
  GpuSpec gpu;
  gpu.name = "round";
  gpu.compute_capability = 90;
  gpu.sm_count = 100;
  gpu.clock = Hertz(1e9);
  gpu.tensor_ops_per_cycle_sm[static_cast<std::size_t>(DType::fp8)] = 2048;
  gpu.dram_bandwidth = BytesPerSecond(1e12);
  gpu.l2_bandwidth = BytesPerSecond(1e13);
  gpu.l2_size = Bytes(50e6);
  gpu.launch_latency = Seconds(2e-6);
  return gpu;
}

GemmConstants round_constants() {
  return {.tiles = TileRule::scaled_mm,
          .k_loop_cycles = {1, 1},
          .tile_cycles = {1000, 1000},
          .load_share = {1, 1}};
}

TEST(EstimatorGemm, AddsUpByHand) {
  const Gemm gemm = gemm_of(1280, 1280, 1280, DType::fp8, Framework::sglang);
  const GemmEstimate e = estimate_gemm(gemm, round_gpu(), round_constants(), true);
  // m > 128: tiles of 128 x 128, so 10 x 10 CTAs, one on each SM.
  EXPECT_EQ(e.tile_m, 128);
  EXPECT_EQ(e.tile_n, 128);
  EXPECT_DOUBLE_EQ(e.waves, 1);
  // 2 x 128 x 128 x 1280 operations at 2048 a ns = 20.48 us; the whole GPU has no more to do.
  EXPECT_NEAR(e.tile_math, 20.48, 1e-9);
  EXPECT_NEAR(e.math, 20.48, 1e-9);
  // (128 + 128) x 1280 B at a hundredth of 10 TB/s; 1280 B of K at 1 clock per 2 B.
  EXPECT_NEAR(e.tile_load, 3.2768, 1e-9);
  EXPECT_NEAR(e.tile_latency, 0.64, 1e-9);
  EXPECT_NEAR(e.body, 20.48 + 1, 1e-9);
  // 1280^2 x (1 + 1 + 2) B, each once.
  EXPECT_NEAR(e.dram, 6.5536, 1e-9);
  EXPECT_NEAR(e.l2, 0.65536, 1e-9);
  EXPECT_NEAR(e.reread, 0, 1e-9);
  // sqrt(21.48^2 + 6.5536^2) + 2 = 22.45751 + 2.
  EXPECT_NEAR(e.total, 24.45751, 1e-4);
}

TEST(EstimatorGemm, PowerLimitActsNearlyAsMaximum) {
  GpuSpec gpu = round_gpu();
  gpu.power = Watts(204.8);
  const Gemm gemm = gemm_of(1280, 1280, 1280, DType::fp8, Framework::sglang);
  const GemmEstimate e = estimate_gemm(gemm, gpu, round_constants(), true);
  // 2 x 1280^3 flops x 1 pJ = 4.194304 mJ (fp8 is the only rate, twice the narrow core's, and the
  // exponent is 0) at 204.8 W: 20.48 us. (22.45751^4 + 20.48^4)^(1/4) + 2.
  EXPECT_NEAR(e.power, 20.48, 1e-9);
  EXPECT_NEAR(e.total, std::pow(std::pow(22.45751, 4) + std::pow(20.48, 4), 0.25) + 2, 1e-4);
}

TEST(EstimatorGemm, QuantisationOfVllmQueuesByRow) {
  GemmConstants constants = round_constants();
  constants.quantise_us = {1, 2};
  constants.quantise_row_ns = 3;
  GpuSpec gpu = round_gpu();
  gpu.launch_latency = Seconds(2.2e-6);
  const auto quantise = [&](std::int64_t k, Framework framework) {
    return estimate_gemm(gemm_of(1000, 512, k, DType::fp8, framework), gpu, constants, false)
        .quantise;
  };
  EXPECT_NEAR(quantise(2048, Framework::sglang), 1, 1e-9);
  EXPECT_NEAR(quantise(2048, Framework::vllm), 2 + 3 * 2, 1e-9);  // 1,000 rows x 3 ns x (1 + 1)
  EXPECT_NEAR(quantise(2049, Framework::vllm), 2 + 3 * 3, 1e-9);
  EXPECT_EQ(quantise(2048, Framework::pytorch), 0);
}

TEST(EstimatorGemm, SplitsKWhereFewTilesWouldStreamTheWeights) {
  const GpuSpec gpu = gpu_of("a100-sxm");
  GemmConstants constants = round_constants();
  constants.tiles = TileRule::cublas;
  const auto split = [&](std::int64_t n, std::int64_t k) {
    return estimate_gemm(gemm_of(16, n, k), gpu, constants, false).split;
  };
  EXPECT_GT(split(512, 16384), 1);
  EXPECT_EQ(split(65536, 1024), 1);  // 512 CTAs of 16 x 128 fill 108 SMs without
}

TEST(EstimatorGemm, WarmAndColdAtOnceAreWhatEachIsAlone) {
  const GpuSpec gpu = gpu_of("a100-sxm");
  GemmConstants constants = round_constants();
  constants.tiles = TileRule::cublas;
  for (const std::int64_t m : {1, 100, 4096}) {
    for (const std::int64_t k : {512, 16384}) {
      const Gemm gemm = gemm_of(m, 4096, k);
      const GemmWarmAndCold both = estimate_gemm_both(gemm, gpu, constants);
      for (const bool is_cold : {false, true}) {
        const GemmEstimate& found = is_cold ? both.cold : both.warm;
        const GemmEstimate alone = estimate_gemm(gemm, gpu, constants, is_cold);
        EXPECT_EQ(found.total, alone.total) << m << " x " << k;
        EXPECT_EQ(found.tile_m, alone.tile_m);
        EXPECT_EQ(found.split, alone.split);
        EXPECT_EQ(found.dram, alone.dram);
      }
      EXPECT_GT(both.cold.dram, both.warm.dram);
    }
  }
}

TEST(EstimatorGemm, WeightsBeyondASixthOfTheL2ComeFromDram) {
  const GpuSpec gpu = gpu_of("l40s");  // L2 96 MiB, six times as fast as DRAM
  const double inside = price_us(gemm_of(16, 7168, 768), gpu);    // 11 MB
  const double outside = price_us(gemm_of(16, 7168, 1536), gpu);  // 22 MB
  EXPECT_GT(outside, 3 * inside);
  // Cold, the small one costs as much a byte.
  const Gemm small = gemm_of(16, 7168, 768);
  EXPECT_GT(family_of(small, gpu)->cold_extra(small, gpu).value() * 1e6, outside / 4);
}

// SGLang's tables take turns with the activations, too: 4,096 x 5,120 of them are 42 MB, which fit
// the L40S's L2 of 101 MB once, and not six times.
TEST(EstimatorGemm, ActivationsOfSglangsTablesComeFromDram) {
  const GpuSpec gpu = gpu_of("l40s");
  const auto dram = [&](Framework framework) {
    GemmConstants constants = round_constants();
    constants.tiles = TileRule::cublas;
    constants.activation_copies = 6;
    return estimate_gemm(gemm_of(4096, 32, 5120, DType::bf16, framework), gpu, constants, false)
        .dram;
  };
  EXPECT_LT(dram(Framework::vllm), 5);
  EXPECT_NEAR(dram(Framework::sglang), 42.2e6 / 864e9 * 1e6, 2);
}

// At the power limit alone do its numbers cost more.
TEST(EstimatorGemm, EnergyOfSglangsTables) {
  GemmConstants constants = round_constants();
  constants.sglang_energy = 1.2;
  GpuSpec gpu = round_gpu();
  gpu.power = Watts(204.8);
  const auto power = [&](Framework framework) {
    return estimate_gemm(gemm_of(1280, 1280, 1280, DType::fp8, framework), gpu, constants, true)
        .power;
  };
  EXPECT_NEAR(power(Framework::vllm), 20.48, 1e-9);
  EXPECT_NEAR(power(Framework::sglang), 1.2 * 20.48, 1e-9);
}

// Where threads copy, CTAs that follow each other on an SM start and end one after the other; bulk
// copies of the next begin under the last one's products.
TEST(EstimatorGemm, CtasInTurnStartAndEndEach) {
  const auto body = [&](int capability) {
    GpuSpec gpu = round_gpu();
    gpu.compute_capability = capability;
    GemmConstants constants = round_constants();
    constants.store_share = {0, 0};
    const GemmEstimate e = estimate_gemm(gemm_of(1280, 12800, 128, DType::fp8, Framework::sglang),
                                         gpu, constants, true);
    return e.body - std::max({e.tile_math, e.tile_load, e.tile_latency});
  };
  EXPECT_NEAR(body(89), 10, 1e-9);  // ten CTAs of 128 x 128 an SM, 1,000 clocks at 1 GHz each
  EXPECT_NEAR(body(90), 2, 1e-9);
}

// An RTX 4090 streams 0.945 of its nominal bandwidth.
TEST(EstimatorGemm, DividesByTheBandwidthThatStreamsReach) {
  GpuSpec gpu = round_gpu();
  const auto dram = [&] {
    return estimate_gemm(gemm_of(1, 4096, 4096, DType::fp8), gpu, round_constants(), true).dram;
  };
  const double usual = dram();
  gpu.dram_stream_share = 0.945;
  EXPECT_NEAR(dram(), usual * 0.9 / 0.945, 1e-9);
}

TEST(EstimatorGemm, CoversByFormat) {
  const GpuSpec gpu = gpu_of("b200-sxm");
  const auto name = [&](DType dtype) {
    const EstimatorFamily* family = family_of(gemm_of(1, 128, 128, dtype), gpu);
    return family == nullptr ? std::string_view("none") : family->name();
  };
  EXPECT_EQ(name(DType::bf16), "gemm_16bit");
  EXPECT_EQ(name(DType::fp16), "gemm_16bit");
  EXPECT_EQ(name(DType::fp8), "gemm_fp8");
  EXPECT_EQ(name(DType::int8), "gemm_fp8");
  EXPECT_EQ(name(DType::fp8_block), "gemm_fp8_block");
  EXPECT_EQ(name(DType::nvfp4), "gemm_4bit");
  EXPECT_EQ(name(DType::mxfp4), "gemm_4bit");
  EXPECT_EQ(name(DType::fp32), "none");
  EXPECT_EQ(name(DType::w4a16), "gemm_weight_only");
  // A GPU without a path for a 4-bit format unpacks it.
  EXPECT_EQ(family_of(gemm_of(1, 128, 128, DType::nvfp4), gpu_of("h200-sxm"))->name(),
            "gemm_weight_only");
  const EstimatorFamily& family = *family_of(gemm_of(1, 1, 1), gpu);
  EXPECT_FALSE(family.covers(RmsNorm{.tokens = 1, .dim = 128}, gpu));
}

TEST(EstimatorGemm, SaysWhichGpuHasNoPath) {
  const GpuSpec gpu = gpu_of("a100-sxm");
  const Gemm gemm = gemm_of(1, 128, 128, DType::fp8);
  EXPECT_THAT(
      [&] { (void)family_of(gemm, gpu)->first_order(gemm, gpu); },
      testing::ThrowsMessage<PredictionError>(
          "gemm in fp8: a100-sxm has no matrix path for it; use a format that `foretoken gpu "
          "show "
          "a100-sxm` lists"));
}

TEST(EstimatorGemm, NamesItsFeaturesAndKeepsThemFinite) {
  for (const std::string& name : gpu_names()) {
    const GpuSpec gpu = gpu_of(name);
    for (const DType dtype : formats) {
      if (!has_path(gpu, dtype)) continue;
      for (const Gemm& gemm :
           {gemm_of(1, 1, 1, dtype), gemm_of(1, 1'000'000, 1'000'000, dtype),
            gemm_of(1'000'000, 1, 1, dtype), gemm_of(100'000, 100'000, 100'000, dtype),
            gemm_of(8192, 152'064, 8192, dtype, Framework::pytorch)}) {
        const EstimatorFamily& family = *family_of(gemm, gpu);
        std::vector<float> values(family.feature_names().size(), NAN);
        FeatureSink sink(values);
        family.features(gemm, gpu, sink);
        EXPECT_EQ(sink.used(), values.size());
        for (const float value : values) EXPECT_TRUE(std::isfinite(value)) << name;
        EXPECT_GT(family.first_order(gemm, gpu).time, gpu.launch_latency * 0.9);
        EXPECT_GE(family.cold_extra(gemm, gpu), Seconds(0));
      }
    }
  }
}

TEST(EstimatorGemm, NeverGetsFasterWithMoreK) {
  for (const char* name : {"a100-sxm", "l40s", "b200-sxm", "rtx-pro-6000-server", "mi300x"}) {
    const GpuSpec gpu = gpu_of(name);
    for (const DType dtype : formats) {
      if (!has_path(gpu, dtype)) continue;
      for (const std::int64_t m : {1, 100, 5000}) {
        double previous = 0;
        for (std::int64_t k = 32; k < 100'000; k += 1 + k / 7) {
          const double time = price_us(gemm_of(m, 3072, k, dtype), gpu);
          EXPECT_GE(time, previous * (1 - 1e-9)) << name << ' ' << m << ' ' << k;
          previous = time;
        }
      }
    }
  }
}

TEST(EstimatorGemm, LargeProductsStayBelowThePeak) {
  for (const std::string& name : gpu_names()) {
    const GpuSpec gpu = gpu_of(name);
    if (!has_path(gpu, DType::bf16)) continue;
    const double roof = 2 * std::pow(8192.0, 3) / gpu.tensor_rate(DType::bf16).value() * 1e6;
    const double time = price_us(gemm_of(8192, 8192, 8192), gpu);
    EXPECT_GT(time, roof) << name;
    EXPECT_LT(time, 3 * roof) << name;  // the L4, at 72 W, is power bound: 2.8
  }
}

}  // namespace
}  // namespace foretoken::estimator_gemm_test
