// The neusight baseline: waves of tiles and their roof by hand, what its two answers mean, and the
// predictor that runs the networks inside the program.
#include "kernels/estimators/neusight.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/estimators/trained_families.hpp"
#include "kernels/networks/head.hpp"
#include "tests/unit/kernels/toy_gpu.hpp"

namespace foretoken::neusight_test {
namespace {

/// 4 SMs at 1 GHz with 4,096 tensor operations a cycle each, 400 GB/s.
GpuSpec round_gpu() {
  GpuSpec gpu = toy_gpu(4, 1);
  gpu.clock = Hertz(1e9);
  gpu.dram_bandwidth = BytesPerSecond(400e9);
  gpu.memory_capacity = Bytes(std::exp2(36));
  gpu.l2_size = Bytes(std::exp2(20));
  return gpu;
}

// Triton tiles of 64 x 128: 3 x 2 of them on 4 SMs are 2 waves.
const Kernel product = Gemm{192, 256, 1024, DType::bf16, {Framework::vllm, KernelSource::triton}};

const EstimatorFamily& family() {
  return neusight_family(*family_of(product, load_gpu("h200-sxm", {})));
}

TEST(Neusight, RoofOfWholeWaves) {
  // A tile is 2 x 64 x 128 x 1024 operations, 4,096 cycles: two waves take 8.192 us. Its operands
  // in and out are 1,015,808 bytes, 2.54 us.
  const FirstOrder first = family().first_order(product, round_gpu());
  EXPECT_NEAR(first.time.value(), 8.192e-6, 1e-15);
  EXPECT_EQ(first.bound_by, Bound::tensor);
  GpuSpec slow = round_gpu();
  slow.dram_bandwidth = BytesPerSecond(100e9);
  // 10.158 us of bytes, and 6 of 8 places in the waves are taken.
  EXPECT_NEAR(family().first_order(product, slow).time.value(), 10.15808e-6 * 8 / 6, 1e-13);
  EXPECT_EQ(family().first_order(product, slow).bound_by, Bound::dram);
}

TEST(Neusight, FeaturesOfTheMeanTile) {
  std::array<float, 5> values{};
  FeatureSink sink(values);
  family().features(product, round_gpu(), sink);
  ASSERT_EQ(sink.used(), family().feature_names().size());
  // (64 + 128) x 1024 x 2 = 393,216 bytes a tile, at an SM's 100 GB/s.
  EXPECT_FLOAT_EQ(values[0], static_cast<float>(std::log2(4.096)));
  EXPECT_FLOAT_EQ(values[1], static_cast<float>(std::log2(3.93216)));
  // Two waves of four tiles: 3 x 2^20 bytes.
  EXPECT_FLOAT_EQ(values[2], static_cast<float>(std::log2(3.0) - 16));
  EXPECT_FLOAT_EQ(values[3], static_cast<float>(std::log2(3.0)));
  EXPECT_FLOAT_EQ(values[4], 1.0F);
}

/// A member that answers the same whatever it is asked.
Network constant(float answer) { return Network({NetworkLayer{1, 1, {0}, {answer}}}); }

TEST(Head, TurnsAnswersIntoLogarithms) {
  const std::vector<FeatureScale> features = {{"log2_waves", 0, 1, 0, 10}};
  const float two_waves[] = {1.0F};
  const float third = std::log(3.0F);  // sigmoid: 3/4
  const Ensemble one(features, {constant(third)});
  EXPECT_NEAR(log_ratio(Head::log_ratio, one, two_waves), std::log(3.0), 1e-6);
  EXPECT_NEAR(log_ratio(Head::efficiency, one, two_waves), std::log(4.0 / 3), 1e-6);
  // 3/4 - (1/2) / 2 waves = 1/2.
  const Ensemble pair(features, {constant(third), constant(0)});
  EXPECT_NEAR(log_ratio(Head::wave_utilisation, pair, two_waves), std::log(2.0), 1e-6);
  // 1/2 - (3/4) / 1 wave is below nothing.
  const float one_wave[] = {0.0F};
  const Ensemble below(features, {constant(0), constant(third)});
  EXPECT_NEAR(log_ratio(Head::wave_utilisation, below, one_wave), -std::log(utilisation_min),
              1e-12);
}

std::unique_ptr<Predictor> neusight(const Value& options = {}) {
  Diagnostics diagnostics;
  TableReader table(options, diagnostics, "predictor");
  auto predictor = predictor_catalog().find("neusight", {}).make(table);
  table.finish();
  diagnostics.throw_if_any();
  return predictor;
}

TEST(Neusight, PricesWhatItWasTrainedOnAndSaysSo) {
  const Kernel gemm = Gemm{4096, 4096, 4096, DType::bf16};
  const GpuSpec h200 = load_gpu("h200-sxm", {});
  const Prediction prediction = neusight()->predict(gemm, h200);
  // 139 us at full rate; a baseline, but no fool.
  EXPECT_GT(prediction.time, Seconds(139e-6));
  EXPECT_LT(prediction.time, Seconds(300e-6));
  EXPECT_EQ(prediction.origin, Origin::learned);
  GpuSpec other = h200;
  other.name = "unheard-of";
  EXPECT_EQ(neusight()->predict(gemm, other).origin, Origin::transferred);
}

Attention attention(std::vector<SequenceSlice> slices, KernelSource source) {
  Attention attention{32, 8, 128};
  attention.load = AttentionLoad::exact(std::move(slices));
  attention.implementation.source = source;
  return attention;
}

// vLLM's FlashAttention-3. Queries and outputs are 8.405 MB, 2512 cached tokens of 4 KiB 10.289 MB:
// at 3352 GB/s 5.577 us, more than the products take. The prompt's 2048 rows a KV head are 16 tiles
// of 128, the decode's 4 are one: 136 tiles fill 136 / 264 of two waves.
TEST(Neusight, MixedAttentionOfOneLaunchIsPricedOnce) {
  const GpuSpec gpu = load_gpu("h100-sxm", {});
  const Kernel mixed = attention({{1, 2000}, {512, 512}}, KernelSource::automatic);
  const EstimatorFamily& family = neusight_family(*family_of(mixed, gpu));
  EXPECT_EQ(family.name(), "attention_prefill");
  const double first = family.first_order(mixed, gpu).time.value();
  EXPECT_NEAR(first, 5.577e-6 * 264 / 136, 5e-9);
  TrainedFamilies trained("", embedded_neusight(), "inside");
  const double ratio = log_ratio(family, *trained.find(family), mixed, gpu);
  EXPECT_NEAR(neusight()->predict(mixed, gpu).time.value(), first * std::exp(ratio), 1e-12);
}

// vLLM's FlashInfer and TensorRT-LLM launch a kernel for each kind; Triton's is priced so.
TEST(Neusight, MixedAttentionOfTwoLaunchesIsTheirSum) {
  const auto predictor = neusight();
  for (const auto& [name, source] : {std::pair{"h100-sxm", KernelSource::flashinfer_fa2},
                                     {"b200-sxm", KernelSource::automatic},
                                     {"h100-sxm", KernelSource::triton}}) {
    const GpuSpec gpu = load_gpu(name, {});
    EXPECT_NEAR(predictor->predict(attention({{1, 2000}, {512, 512}}, source), gpu).time.value(),
                (predictor->predict(attention({{512, 512}}, source), gpu).time +
                 predictor->predict(attention({{1, 2000}}, source), gpu).time)
                    .value(),
                1e-12)
        << name << ' ' << enum_name(source);
  }
}

TEST(Neusight, RefusesWhatNobodyTrainedItFor) {
  Value alone;
  alone.set("fallback", Value("none"));
  EXPECT_THROW(
      (void)neusight(alone)->predict(Gemm{64, 64, 64, DType::fp32}, load_gpu("h200-sxm", {})),
      PredictionError);
  Value options;
  options.set("artifacts", Value("no/such/folder"));
  EXPECT_THROW(neusight(options), ConfigError);
}

}  // namespace
}  // namespace foretoken::neusight_test
