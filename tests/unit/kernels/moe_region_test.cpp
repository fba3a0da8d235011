// Equation 1, the region variables and thresholds of RaMP, and the pool of configurations.
#include "kernels/tiles/moe_region.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "kernels/routing.hpp"
#include "kernels/tiles/moe_tile.hpp"

namespace foretoken::moe_region_test {
namespace {

using testing::DoubleNear;
using testing::Each;
using testing::Field;
using testing::Ge;
using testing::HasSubstr;

GpuSpec h200() { return load_gpu("h200-sxm", {}); }

// RaMP, Figure 1: 32 assignments to 16 experts at balancedness 0.216. Tiles of 16 rows hold 80
// (2 + 1 + 1 + 1 tiles), of which 48 are padding (60 %); tiles of 4 hold 40 (7 + 1 + 1 + 1), 20 %.
TEST(MoeGrid, CountsTheTilesOfFigure1) {
  const std::vector<std::int64_t> histogram = {27, 2, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  EXPECT_EQ(row_tiles(histogram, 16), 5);
  EXPECT_EQ(row_tiles(histogram, 4), 10);
  EXPECT_EQ(active_experts(histogram), 4);
  EXPECT_NEAR(balancedness(histogram), 0.216, 0.001);
  // 5 row tiles x ceil(2048 / 256) = 8 columns of tiles; split over 4 CTAs four times as many.
  EXPECT_EQ(moe_grid(histogram, 16, 2048, 256), 40);
  EXPECT_EQ(moe_grid(histogram, 16, 2048, 256, 4), 160);
  EXPECT_EQ(moe_grid(histogram, 16, 2049, 256), 45);
}

TEST(MoeLayer, IsWhatOneRankHolds) {
  const FusedMoe kernel{.tokens = 8,
                        .experts = 256,
                        .topk = 8,
                        .hidden = 7168,
                        .intermediate = 2048,
                        .dtype = DType::fp8,
                        .tp = 8,
                        .ep = 8};
  const MoeLayer layer = layer_of(kernel);
  EXPECT_EQ(layer, (MoeLayer{32, 7168, 256, DType::fp8}));
  EXPECT_EQ(layer.gate_up_columns(), 512);
  EXPECT_DOUBLE_EQ(layer.weight_bytes(), 3.0 * 7168 * 256);
}

TEST(Region, ThresholdsOnAnH200AreThePapers) {
  const RegionThresholds thresholds = region_thresholds(h200(), DType::fp8);
  EXPECT_NEAR(thresholds.compute_density, 24e-6 / 130e-9, 1e-9);
  EXPECT_DOUBLE_EQ(thresholds.group_m, 1440);  // 0.75 x 60 MiB / (256 x 128 B)
  EXPECT_NEAR(thresholds.split_k_depth, 48, 1e-9);
}

TEST(Region, ThresholdsFollowTheSpecification) {
  // bf16 halves the rate: tiles take twice as long, so that half as many outweigh a start.
  const RegionThresholds bf16 = region_thresholds(h200(), DType::bf16);
  EXPECT_NEAR(bf16.compute_density, 0.5 * 24e-6 / 130e-9, 1e-9);
  EXPECT_DOUBLE_EQ(bf16.group_m, 720);
  EXPECT_NEAR(bf16.split_k_depth, 24, 1e-9);
  // B200: starts at 1.8 us instead of 2.4, twice the operations a cycle, 1,856 instead of 1,830
  // MHz.
  const GpuSpec b200 = load_gpu("b200-sxm", {});
  const RegionThresholds larger = region_thresholds(b200, DType::fp8);
  EXPECT_NEAR(larger.compute_density, 24e-6 / 130e-9 * (1.8 / 2.4) * 2 * (1856.0 / 1830), 1e-6);
  EXPECT_NEAR(larger.group_m, 0.75 * 126.5 * 1024 * 1024 / 32768, 0.1);
  EXPECT_THROW(region_thresholds(load_gpu("a100-sxm", {}), DType::fp8), PredictionError);
}

TEST(Region, WavesAndDensityDecide) {
  const RegionThresholds thresholds = region_thresholds(h200(), DType::fp8);
  const MoeLayer olmoe{64, 2048, 1024, DType::fp8};
  const MoeLayer mixtral{8, 6144, 16384, DType::fp8};
  const auto region = [&](const MoeLayer& layer, std::int64_t grid) {
    return enum_name(region_of(region_variables(layer, {}, grid, h200()), thresholds));
  };
  EXPECT_EQ(region(olmoe, 131), "A1");
  EXPECT_EQ(region(olmoe, 132), "A2");
  EXPECT_EQ(region(olmoe, 1056), "A2");  // 8 waves
  EXPECT_EQ(region(olmoe, 1057), "A3");
  EXPECT_EQ(region(mixtral, 131), "B1");
  EXPECT_EQ(region(mixtral, 133), "B2");
  EXPECT_EQ(region(mixtral, 2000), "B3");
}

TEST(Region, AdviceIsTable2s) {
  const RegionThresholds thresholds = region_thresholds(h200(), DType::fp8);
  const MoeLayer deepseek{256, 7168, 256, DType::fp8};
  const auto advice = [&](const MoeLayer& layer, std::int64_t grid) {
    return region_advice(region_variables(layer, {}, grid, h200()), thresholds);
  };
  EXPECT_TRUE(advice(deepseek, 26).split_k);   // 0.197 waves
  EXPECT_FALSE(advice(deepseek, 27).split_k);  // 0.205
  EXPECT_FALSE(advice(deepseek, 26).group_m);  // 112 tiles of weights
  EXPECT_FALSE(advice(deepseek, 132).wide_tile);
  EXPECT_TRUE(advice(deepseek, 133).wide_tile);
  EXPECT_TRUE(advice({8, 6144, 16384, DType::fp8}, 26).group_m);
}

/// Configurations of the measured pool that are advised for a layer.
std::vector<MoeTile> pool_of(const MoeLayer& layer, const GpuSpec& gpu) {
  return advised_pool(moe_tiles(measured_pool_options(), layer.dtype, h200()),
                      layer_advice(layer, {}, gpu));
}

// Of the 134 fp8 configurations 20 are a tile of at most 64 rows with its stages, 7 a taller one
// (128 x 128 x 256 has no room for four stages): 2 groups x (20 x 3 splits + 7).
TEST(MoePool, HoldsWhatTheRegionAdvises) {
  const MoeLayer olmoe{64, 2048, 1024, DType::fp8}, deepseek{32, 7168, 256, DType::fp8};
  const auto plain = pool_of(olmoe, h200());
  EXPECT_EQ(plain.size(), 20U + 7);
  EXPECT_THAT(plain, Each(Field(&MoeTile::group_m, 1)));
  EXPECT_THAT(plain, Each(Field(&MoeTile::split_k, 1)));
  const auto split = pool_of(deepseek, h200());
  EXPECT_EQ(split.size(), 20U * 3 + 7);
  EXPECT_THAT(split, Each(Field(&MoeTile::group_m, 1)));
  const auto grouped = pool_of({8, 6144, 16384, DType::fp8}, h200());  // Mixtral
  EXPECT_EQ(grouped.size(), 2U * (20 + 7));
  EXPECT_THAT(grouped, Each(Field(&MoeTile::split_k, 1)));
}

TEST(MoePool, FollowsLayerAndGpu) {
  // 90 columns of tiles x 16 of depth are at the limit of 1,440, 92 beyond it.
  EXPECT_EQ(pool_of({64, 2048, 11520, DType::fp8}, h200()).size(), 27U);
  EXPECT_EQ(pool_of({64, 2048, 11776, DType::fp8}, h200()).size(), 54U);
  // OLMoE's 128 tiles of 32 KiB: three quarters of 5 MiB hold 120 of them.
  GpuSpec small = h200();
  small.l2_size = Bytes(5 << 20);
  EXPECT_EQ(pool_of({64, 2048, 1024, DType::fp8}, small).size(), 54U);
  // A depth of 47 tiles is too little, and 56 are where a launch costs twice as much.
  EXPECT_EQ(pool_of({32, 6016, 256, DType::fp8}, h200()).size(), 27U);
  GpuSpec slow = h200();
  slow.launch_latency = 2 * slow.launch_latency;
  EXPECT_EQ(pool_of({32, 7168, 256, DType::fp8}, slow).size(), 27U);
}

TEST(MoePool, HasTheMeasuredConfigurationsOfAnH200) {
  for (const DType dtype : {DType::bf16, DType::fp8}) {
    const auto tiles = moe_tiles(measured_pool_options(), dtype, h200());
    EXPECT_EQ(tiles.size(), 134U) << enum_name(dtype);
    EXPECT_THAT(tiles, Each(Field(&MoeTile::stages, Ge(3))));
  }
  const auto fp8 = moe_tiles(measured_pool_options(), DType::fp8, h200());
  EXPECT_EQ(fp8.front(), (MoeTile{16, 32, 128, 1, 1, 4, 3}));
  EXPECT_EQ(fp8.back(), (MoeTile{128, 128, 256, 16, 1, 8, 3}));
}

// (64 + 128) x 128 B x 4 stages = 96 KiB of shared memory: two CTAs on 228 KiB; with three stages
// (72 KiB) three. 64 accumulators and 40 more registers, 104 x 128 threads: four by registers.
TEST(MoePool, CountsResidentCtas) {
  EXPECT_EQ(shared_bytes({64, 128, 128, 1, 1, 4, 4}, DType::fp8), 96 * 1024);
  EXPECT_EQ(registers_per_thread({64, 128, 128, 1, 1, 4, 4}, GpuVendor::nvidia), 104);
  EXPECT_EQ(resident_ctas({64, 128, 128, 1, 1, 4, 4}, DType::fp8, h200()), 2);
  EXPECT_EQ(resident_ctas({64, 128, 128, 1, 1, 4, 3}, DType::fp8, h200()), 3);
  // 256 accumulators a thread do not exist: 256 x 128 over four warps.
  EXPECT_EQ(resident_ctas({128, 256, 64, 1, 1, 4, 2}, DType::fp8, h200()), 0);
}

TEST(MoePool, FitsSmallerSharedMemory) {
  const GpuSpec mi300x = load_gpu("mi300x", {});  // 64 KiB
  const auto tiles = moe_tiles(measured_pool_options(), DType::fp8, mi300x);
  EXPECT_LT(tiles.size(), 134U);
  for (const MoeTile& tile : tiles) EXPECT_LE(shared_bytes(tile, DType::fp8), 64.0 * 1024);
  GpuSpec tiny = mi300x;
  tiny.shared_size_sm = Bytes(4096);
  try {
    moe_tiles(measured_pool_options(), DType::fp8, tiny);
    FAIL() << "no error";
  } catch (const PredictionError& error) {
    EXPECT_THAT(error.what(), HasSubstr("no tile of a mixture-of-experts kernel in fp8 fits"));
  }
}

}  // namespace
}  // namespace foretoken::moe_region_test
