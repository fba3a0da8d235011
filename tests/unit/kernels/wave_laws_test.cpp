// The wave model of all kernels: columns by hand, which law is taken, and the predictor.
#include "kernels/estimators/wave_laws.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/predictor.hpp"

namespace foretoken::wave_laws_test {
namespace {

using testing::HasSubstr;

std::unique_ptr<Predictor> made(const std::string& name, const Value& options = {}) {
  Diagnostics diagnostics;
  TableReader table(options, diagnostics, "predictor");
  auto predictor = predictor_catalog().find(name, {}).make(table);
  table.finish();
  diagnostics.throw_if_any();
  return predictor;
}

// Six tiles of 64 x 128 and a depth of 1,024 on as many SMs: 2 x 64 x 128 x 1024 operations, 4,096
// a cycle, and (64 + 128) x 1024 x 2 = 393,216 bytes each.
Gemm product() {
  return {192, 256, 1024, DType::bf16, {Framework::vllm, KernelSource::triton, true}};
}

TEST(LaunchWaves, AreWhatLaunchesSayAtFullRates) {
  const GpuSpec gpu = load_gpu("h200-sxm", {});
  const LaunchWaves waves = launch_waves(product(), gpu);
  const double clock = gpu.clock.value(), launch = gpu.launch_latency.value();
  const double loads = 393'216 / (gpu.l2_bandwidth.value() / gpu.sm_count);
  EXPECT_NEAR(waves[WaveColumn::launches], launch, 1e-12);
  EXPECT_NEAR(waves[WaveColumn::math], 4096 / clock, 1e-12);
  EXPECT_EQ(waves[WaveColumn::pipes], 0);
  EXPECT_NEAR(waves[WaveColumn::loads], loads, 1e-12);
  EXPECT_NEAR(waves[WaveColumn::l2], 6 * 393'216 / gpu.l2_bandwidth.value(), 1e-12);
  EXPECT_NEAR(waves[WaveColumn::rounds], std::max(4096 / clock, loads), 1e-12);
  EXPECT_NEAR(waves[WaveColumn::round_trips], 1000 / clock, 1e-12);
  EXPECT_NEAR(waves[WaveColumn::start_up], launch * std::log(7), 1e-12);
  const double bytes = (192.0 * 1024 + 256 * 1024 + 192 * 256) * 2;
  EXPECT_NEAR(waves[WaveColumn::dram], bytes / gpu.dram_bandwidth.value(), 1e-12);
  EXPECT_GT(waves[WaveColumn::tiles], waves[WaveColumn::math]);
  Gemm warm = product();
  warm.implementation.is_cold = false;  // a fortieth of what L2 keeps
  EXPECT_LT(launch_waves(warm, gpu)[WaveColumn::dram], 1e-5 * waves[WaveColumn::dram]);
}

// An SM of half the shared memory holds half the CTAs: twice the rounds, the same busiest SM.
TEST(LaunchWaves, RoundsFollowResidency) {
  const GpuSpec gpu = load_gpu("h200-sxm", {});
  GpuSpec small = gpu;
  small.shared_size_sm = gpu.shared_size_sm * 0.25;
  Gemm large = product();
  large.m = large.n = 8192;
  const LaunchWaves whole = launch_waves(large, gpu), halved = launch_waves(large, small);
  EXPECT_GT(halved[WaveColumn::rounds], 1.5 * whole[WaveColumn::rounds]);
  EXPECT_EQ(halved[WaveColumn::math], whole[WaveColumn::math]);
}

WaveLaw law(double constant, double error = 0) {
  WaveLaw made;
  made.constants.fill(constant);
  made.error = error;
  return made;
}

TEST(WaveLaws, TheNearestOneIsTaken) {
  const Implementation triton{Framework::vllm, KernelSource::triton};
  const WaveLaws laws({{{"gemm_16bit", {}, ""}, law(1)},
                       {{"gemm_16bit", triton, ""}, law(2)},
                       {{"gemm_16bit", triton, "h200-sxm"}, law(3)}},
                      {});
  const GpuSpec h200 = load_gpu("h200-sxm", {}), l40s = load_gpu("l40s", {});
  const auto constant = [&](const Gemm& gemm, const GpuSpec& gpu, const GpuSpec* known = nullptr) {
    const WaveLaws::Found found = laws.find("gemm_16bit", gemm, gpu, known);
    return found.law->constants[0] + (found.is_of_gpu ? 10 : 0);
  };
  EXPECT_EQ(constant(product(), h200), 13);
  EXPECT_EQ(constant(product(), l40s), 2);
  EXPECT_EQ(constant(product(), l40s, &h200), 3);  // a variant of it
  Gemm cublas = product();
  cublas.implementation.source = KernelSource::cublas;
  EXPECT_EQ(constant(cublas, h200), 1);
  EXPECT_EQ(laws.find("rms_norm", RmsNorm{64, 4096}, h200).law, nullptr);
}

std::string error_of(std::string text, std::string_view from, std::string_view to) {
  text.replace(text.find(from), from.size(), to);
  try {
    static_cast<void>(read_wave_laws(text, "wave.json"));
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "none";
}

TEST(WaveLaws, AreReadAsWrittenOrRefused) {
  const Implementation fa3{Framework::sglang, KernelSource::flash_attention_3};
  const WaveLaws laws({{{"attention_decode", fa3, "h100-sxm"}, law(0.25, 0.125)}},
                      Value("by hand"));
  const std::string text = laws.text();
  EXPECT_EQ(read_wave_laws(text, "wave.json").text(), text);
  EXPECT_THAT(error_of(text, "wave laws 1", "wave laws 7"),
              HasSubstr("must be 'foretoken wave laws 1'"));
  EXPECT_THAT(error_of(text, "\"version\": 1", "\"version\": 0"),
              HasSubstr("fit it again with foretoken-calibrate train --baseline wave"));
  EXPECT_THAT(error_of(text, "0.25,", "-0.25,"), HasSubstr("must not be below 0"));
  EXPECT_THAT(error_of(text, "0.25,", ""), HasSubstr("must be 11 numbers"));
}

std::vector<Kernel> kernels_of_a_run() {
  Attention attention{32, 8, 128};
  attention.load = AttentionLoad::exact({{1, 900}, {1, 8000}});
  Attention mixed = attention;
  mixed.load = AttentionLoad::exact({{512, 512}, {1, 8000}});
  return {Gemm{64, 4096, 4096, DType::bf16},
          Gemm{64, 4096, 4096, DType::fp8},
          attention,
          mixed,
          FusedMoe{.tokens = 64, .experts = 8, .topk = 2, .hidden = 4096, .intermediate = 14336},
          RmsNorm{64, 4096},
          FusedAddRmsNorm{64, 4096},
          SiluAndMul{64, 14336},
          TopKRouting{64, 128, 8}};
}

TEST(WavePredictor, PricesWholeModelsOnAnyGpu) {
  Value alone;
  alone.set("others", "none");
  const auto wave = made("wave", alone);
  for (const Kernel& kernel : kernels_of_a_run()) {
    const Prediction known = wave->predict(kernel, load_gpu("h200-sxm", {}));
    EXPECT_EQ(known.origin, Origin::learned) << kernel_name(kernel);
    for (const char* name : {"b300-sxm", "rtx-pro-6000-server"}) {
      const Prediction elsewhere = wave->predict(kernel, load_gpu(name, {}));
      EXPECT_EQ(elsewhere.origin, Origin::transferred) << kernel_name(kernel) << ' ' << name;
      EXPECT_GT(elsewhere.time.value(), 0);
    }
  }
}

TEST(WavePredictor, SaysWhatItExpectsToBeOff) {
  const auto wave = made("wave");
  const Kernel gemm = Gemm{64, 4096, 4096, DType::bf16};
  const double known = wave->predict(gemm, load_gpu("h200-sxm", {})).expected_error;
  EXPECT_GT(known, 0.02);
  EXPECT_GT(wave->predict(gemm, load_gpu("b300-sxm", {})).expected_error, known);
}

TEST(WavePredictor, MoreRowsNeverCostLess) {
  const auto wave = made("wave");
  const GpuSpec gpu = load_gpu("h100-sxm", {});
  double last = 0;
  for (std::int64_t m = 1; m < 5000; m += 1 + m / 8) {
    const double time = wave->predict(Gemm{m, 4096, 4096, DType::bf16}, gpu).time.value();
    EXPECT_GE(time, last) << m;
    last = time;
  }
}

// A copy of a part with a better number: the part's own constants, on columns that can only fall.
TEST(WavePredictor, BetterHardwareNeverCostsMore) {
  const auto wave = made("wave");
  const GpuSpec h200 = load_gpu("h200-sxm", {});
  GpuSpec better = h200;
  better.name = "h200-next";
  better.file = "h200-next.toml";
  better.dram_bandwidth = h200.dram_bandwidth * 1.5;
  better.registers_sm *= 2;
  for (const Kernel& kernel : kernels_of_a_run()) {
    const Prediction next = wave->predict(kernel, better);
    EXPECT_LE(next.time, wave->predict(kernel, h200).time) << kernel_name(kernel);
  }
}

// Each predictor has a price for kernels that nothing was learned about, or says how to get one.
TEST(Fallback, UnknownKernelsHaveAPriceOrARemedy) {
  const GpuSpec gpu = load_gpu("h200-sxm", {});
  const Kernel unknown = Gemm{.m = 64, .n = 4096, .k = 4096, .dtype = DType::fp32};
  for (const char* name : {"synperf", "linear", "neusight", "synperf_paper"}) {
    EXPECT_EQ(made(name)->predict(unknown, gpu).time, made("roofline")->predict(unknown, gpu).time)
        << name;
    Value none;
    none.set("fallback", "none");
    try {
      static_cast<void>(made(name, none)->predict(unknown, gpu));
      ADD_FAILURE() << name;
    } catch (const PredictionError& error) {
      EXPECT_THAT(error.what(), HasSubstr("set fallback = \"roofline\"")) << name;
    }
  }
}

}  // namespace
}  // namespace foretoken::wave_laws_test
