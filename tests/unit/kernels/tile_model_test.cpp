// The published tile models against numbers worked out from their formulas, cache reuse against
// brute force, Stream-K's grids by hand.
#include <gmock/gmock.h>

#include <cmath>
#include <set>

#include "kernels/tiles/stream_k.hpp"
#include "kernels/tiles/tile_reuse.hpp"
#include "kernels/tiles/tile_selector.hpp"

namespace foretoken {
namespace {

std::unique_ptr<TileModel> model(const char* name) { return make_tile_model(name, {}); }

/// MI300X as published: MALL and DRAM rates by the memory clock.
TileMachine mi300x() {
  return tile_machine(load_gpu("mi300x", {}), DType::fp16, {.memory_clock_quirk = true});
}

TiledProduct fp16(std::int64_t m, std::int64_t n, std::int64_t k) {
  return tiled_product(m, n, k, DType::fp16);
}

constexpr ProductTile tile_256{.m = 256, .n = 256, .k = 64};
constexpr ProductTile tile_128{.m = 128, .n = 128, .k = 64};

TEST(TileMachine, Mi300xRatesAreOrigamis) {
  const TileMachine machine = mi300x();
  EXPECT_EQ(machine.preset, "gfx942");
  EXPECT_EQ(machine.units, 304);
  EXPECT_EQ(machine.dies, 8);
  EXPECT_NEAR(machine.l2_rate, 8095.24, 0.005);
  EXPECT_NEAR(machine.mall_rate, 3750.0, 0.01);
  EXPECT_NEAR(machine.dram_rate, 3076.92, 0.005);
  EXPECT_EQ(machine.instruction.cycles, 4);  // 16 cycles on each of four pipes
  EXPECT_EQ(machine.l2_size, 4 * 1024 * 1024);
}

TEST(TileMachine, SiblingsShareOrigamisArchitecture) {
  EXPECT_EQ(tile_machine(load_gpu("mi325x", {}), DType::fp16).preset, "gfx942");
  EXPECT_EQ(tile_machine(load_gpu("mi355x", {}), DType::fp16).preset, "gfx950");
  EXPECT_EQ(tile_machine(load_gpu("h200-sxm", {}), DType::fp16).preset, "");
}

TEST(TileMachine, WithoutTheQuirkRatesAreOfTheComputeClock) {
  const TileMachine machine = tile_machine(load_gpu("mi300x", {}), DType::fp16);
  EXPECT_NEAR(machine.dram_rate, 4e12 / 2.1e9, 1e-9);
}

TEST(TileMachine, NvidiaPartsFollowTheirSpecification) {
  const TileMachine machine = tile_machine(load_gpu("h200-sxm", {}), DType::bf16);
  EXPECT_EQ(machine.preset, "");
  EXPECT_EQ(machine.dies, 1);
  EXPECT_EQ(machine.mall_rate, 0);
  // 64 x 8 x 16 at 4,096 operations a cycle; below 64 rows mma.sync at two thirds of that.
  EXPECT_EQ(machine.instruction_for({.m = 64}).cycles, 4);
  EXPECT_NEAR(machine.instruction_for({.m = 32}).cycles, 4096.0 / 2730, 1e-9);
  EXPECT_NEAR(machine.curve_2025.share(32), 0.568, 0.03);  // measured
  EXPECT_NEAR(machine.curve_2025.share(64), 0.882, 0.03);
  EXPECT_EQ(machine.curve_2025.share(132), 1);
}

TEST(TileMachine, FormatWithoutAPathIsRefused) {
  EXPECT_THROW((void)tile_machine(load_gpu("h200-sxm", {}), DType::nvfp4), PredictionError);
}

// Each row by hand from Algorithms 3 to 9; rates as above, 200 cycles of DRAM latency.
struct Golden {
  std::int64_t m, n, k;
  ProductTile tile;
  double math, l2_hit, mall_hit, l2, mall, dram, epilogue, steps, rounds, total;
};

class Origami2025Golden : public ::testing::TestWithParam<Golden> {};

TEST_P(Origami2025Golden, ToTheDigit) {
  const Golden& golden = GetParam();
  const TileLatency got =
      model("origami_2025")->latency(fp16(golden.m, golden.n, golden.k), golden.tile, mi300x());
  EXPECT_EQ(got.math, golden.math);
  EXPECT_NEAR(got.l2_hit, golden.l2_hit, 5e-5);
  EXPECT_NEAR(got.mall_hit, golden.mall_hit, 5e-5);
  EXPECT_NEAR(got.l2, golden.l2, 0.05);
  EXPECT_NEAR(got.mall, golden.mall, 0.05);
  EXPECT_NEAR(got.dram, golden.dram, 0.05);
  EXPECT_NEAR(got.epilogue, golden.epilogue, 0.05);
  EXPECT_EQ(got.steps, golden.steps);
  EXPECT_EQ(got.rounds, golden.rounds);
  EXPECT_NEAR(got.total, golden.total, 0.05);
}

INSTANTIATE_TEST_SUITE_P(Mi300x, Origami2025Golden,
                         ::testing::Values(Golden{4096, 4096, 4096, tile_256, 4096, .7188, .9375,
                                                  2461.1, 1258.3, 540.8, 4922.1, 63, 1, 268426.7},
                                           Golden{4096, 4096, 4096, tile_128, 1024, .4844, .9288,
                                                  1230.5, 1369.7, 318.8, 1230.5, 63, 4, 365365.0},
                                           Golden{8192, 8192, 8192, tile_256, 4096, .4844, .9288,
                                                  2461.1, 2739.4, 437.6, 4922.1, 127, 4, 2131121.0},
                                           Golden{128, 8192, 8192, tile_128, 1024, .4375, .4922,
                                                  1230.5, 614.4, 876.0, 1230.5, 127, 1, 162911.3}));

// The parts of the worked example of an NVIDIA port that follow from what it prints: RTX 4090,
// m16n8k16 in 33/4 cycles, 1,896 and 342.9 bytes a cycle, 623 cycles of latency. Its epilogue of
// 31,266 cycles does not follow from these, and is taken as printed.
TEST(Origami2025, NvidiaPortsWorkedExample) {
  TileMachine machine = tile_machine(load_gpu("rtx-4090", {}), DType::fp16);
  machine.instruction = machine.narrow = {16, 8, 16, 33.0 / 4};
  machine.l2_rate = 1896;
  machine.dram_rate = 342.9;
  machine.dram_latency = 623;
  machine.curve_2025 = {0, 0.0222, 0};
  const ProductTile tile{.m = 128, .n = 256, .k = 64, .group_m = 16};
  const TileLatency got = model("origami_2025")->latency(fp16(2048, 2048, 2048), tile, machine);
  EXPECT_EQ(got.math, 8448);
  EXPECT_NEAR(got.l2_hit, 0.917, 5e-4);
  EXPECT_NEAR(got.l2, 3318, 0.5);
  EXPECT_NEAR(got.dram, 2152, 0.5);
  EXPECT_EQ(got.steps, 31);
  EXPECT_NEAR(0.95 * got.prologue, 4729, 0.5);  // the port takes 5 % off for each tile on a unit
  EXPECT_NEAR(std::max(got.math, got.memory) * 31 + 0.95 * got.prologue + 2 * 31266 + 1 + 500 * 31,
              344650, 0.5);
}

TEST(TileModel, DashesAreAsGoodAsUnderscores) {
  EXPECT_NO_THROW((void)make_tile_model("origami-2026", {}));
  EXPECT_THROW((void)make_tile_model("origami-2052", {}), ConfigError);
}

TEST(TileModel, CountsInstructions) {
  const MatrixInstruction one{16, 16, 16, 1};
  EXPECT_EQ(math_cycles({.m = 128, .n = 128, .k = 64}, one), 256);
  EXPECT_EQ(math_cycles({.m = 16, .n = 16, .k = 64}, {16, 16, 32, 1}), 2);
  const MatrixInstruction whole{32, 32, 8, 32};  // bf16 with one pipe
  EXPECT_EQ(math_cycles({.m = 128, .n = 128, .k = 64}, whole), 4096);
  EXPECT_EQ(math_cycles({.m = 128, .n = 128, .k = 32}, whole), 2048);
}

TEST(BandwidthCurve, SharesOfActiveUnits) {
  const BandwidthCurve bent{1e-6, 1e-3, 0};
  EXPECT_NEAR(bent.share(304), .3964, 5e-5);
  EXPECT_NEAR(bent.share(256), .32153, 5e-5);  // 0.321536 exactly
  const BandwidthCurve twice{2e-6, 2e-3, 0};
  EXPECT_NEAR(twice.share(304), .7928, 5e-5);
  EXPECT_NEAR(twice.share(256), .64307, 5e-6);
  EXPECT_EQ((BandwidthCurve{0, .008, 0}).share(304), 1);
  EXPECT_EQ((BandwidthCurve{0, .008, 0, 100}).share(100), 1);
  EXPECT_DOUBLE_EQ((BandwidthCurve{0, .008, 0, 100}).share(99), .792);
}

TEST(TileReuse, CapacityTakesRowsAway) {
  // 4 x 4 tiles of 128 x 128 x 64: 65,536 elements a slice; half of that holds no 3 rows.
  const CacheTile square{4, 4};
  EXPECT_DOUBLE_EQ(hit_rate_2025(tile_128, square, 65536), 0.75);
  EXPECT_DOUBLE_EQ(hit_rate_2025(tile_128, square, 65535), 1 - 7.0 / 24);  // 3 x 4
  EXPECT_DOUBLE_EQ(hit_rate_2025(tile_128, square, 1), 1 - 5.0 / 8);       // 1 x 4, never 0
}

TEST(SlabWalk, GoesDownASlabThenOn) {
  const auto place = [](std::int64_t id, std::int64_t m, std::int64_t n, std::int64_t width) {
    const SlabPlace at = slab_place(id, m, n, width);
    return std::pair(at.step, at.lane);
  };
  using Place = std::pair<std::int64_t, std::int64_t>;
  EXPECT_EQ(place(2, 4, 6, 3), Place(0, 2));
  EXPECT_EQ(place(3, 4, 6, 3), Place(1, 0));
  EXPECT_EQ(place(12, 4, 6, 3), Place(0, 3));
  EXPECT_EQ(place(23, 4, 6, 3), Place(3, 5));
  EXPECT_EQ(place(12, 3, 5, 2), Place(0, 4));
  EXPECT_EQ(place(14, 3, 5, 2), Place(2, 4));
}

TEST(SlabWalk, TouchesWhatItPasses) {
  const auto touched = [](std::int64_t count, std::int64_t m, std::int64_t n, std::int64_t width) {
    const SlabRange range = slab_range(0, count, m, n, width);
    return std::pair(range.steps, range.lanes);
  };
  using Range = std::pair<std::int64_t, std::int64_t>;
  EXPECT_EQ(touched(3, 8, 16, 4), Range(1, 3));
  EXPECT_EQ(touched(8, 8, 16, 4), Range(2, 4));
  EXPECT_EQ(touched(4, 4, 8, 1), Range(4, 1));
}

TEST(SlabWalk, AgreesWithWalkingEveryStep) {
  for (const auto& [steps, lanes] : {std::pair(3, 5), std::pair(4, 6), std::pair(7, 1)}) {
    for (int width = 1; width <= lanes + 1; ++width) {
      std::set<std::pair<std::int64_t, std::int64_t>> all;
      for (int first = 0; first < steps * lanes; ++first) {
        const SlabPlace at = slab_place(first, steps, lanes, std::min(width, lanes));
        all.insert({at.step, at.lane});
        std::set<std::int64_t> rows, columns;
        for (int count = 1; first + count <= steps * lanes; ++count) {
          const SlabPlace next =
              slab_place(first + count - 1, steps, lanes, std::min(width, lanes));
          rows.insert(next.step);
          columns.insert(next.lane);
          const SlabRange range = slab_range(first, count, steps, lanes, width);
          ASSERT_EQ(range.steps, std::ssize(rows)) << width << " " << first << " " << count;
          ASSERT_EQ(range.lanes, std::ssize(columns)) << width << " " << first << " " << count;
        }
      }
      EXPECT_EQ(std::ssize(all), steps * lanes);  // a bijection
    }
  }
}

// What holds for any generation: more work takes longer, bigger slices too, hits are shares.
class AnyTileModel : public ::testing::TestWithParam<const char*> {};

TEST_P(AnyTileModel, IsMonotonous) {
  const auto tested = model(GetParam());
  const TileMachine machine = mi300x();
  const auto small = tested->latency(fp16(4096, 4096, 1024), tile_128, machine);
  const ProductTile deep{.m = 256, .n = 256, .k = 128};
  EXPECT_LT(small.memory, tested->latency(fp16(4096, 4096, 1024), deep, machine).memory);
  EXPECT_LT(small.total, tested->latency(fp16(8192, 8192, 2048), tile_128, machine).total);
  for (const int group : {1, 2, 3, 4, 5, 6, 8, 16}) {
    ProductTile tile = tile_128;
    tile.group_m = group;
    const TileLatency latency = tested->latency(fp16(4096, 4096, 4096), tile, machine);
    EXPECT_GT(latency.l2_hit, 0);
    EXPECT_LT(latency.l2_hit, 1);
  }
}

TEST_P(AnyTileModel, AnswersForEveryGpuAndFormat) {
  const std::string name = GetParam();
  for (const std::string& gpu_name : gpu_names()) {
    const GpuSpec gpu = load_gpu(gpu_name, {});
    for (const DType dtype : {DType::bf16, DType::fp8}) {
      if (gpu.tensor_rate(dtype).value() <= 0) continue;
      const TileSelector selector(gpu, dtype, name);
      for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{1, 4096, 4096},
                                    {64, 57344, 8192},
                                    {8192, 8192, 8192},
                                    {7, 13, 17},
                                    {128, 128, 65536}}) {
        const TileChoice choice = selector.select(m, n, k);
        EXPECT_TRUE(std::isfinite(choice.latency.total)) << gpu_name;
        EXPECT_GT(choice.time, Seconds(0));
        EXPECT_TRUE(is_feasible(tiled_product(m, n, k, dtype), choice.tile, selector.machine()));
      }
    }
  }
}

TEST_P(AnyTileModel, RanksWhatItSelectsFirst) {
  const TileSelector selector(load_gpu("h200-sxm", {}), DType::bf16, GetParam());
  const TiledProduct product = tiled_product(2048, 6144, 4096, DType::bf16);
  const auto ranked = selector.ranked(product, 5);
  ASSERT_EQ(ranked.size(), 5U);
  EXPECT_EQ(ranked[0].tile, selector.select(2048, 6144, 4096).tile);
  EXPECT_EQ(&selector.select(2048, 6144, 4096), &selector.select(2048, 6144, 4096));
}

INSTANTIATE_TEST_SUITE_P(All, AnyTileModel,
                         ::testing::Values("origami_2025", "origami_2026", "foretoken_2026"));

TEST(TileCandidates, AreTritonblasOnes) {
  // 5 x 5 x 6 = 150 less those above 64 KiB: AMD's Triton keeps one of two slices in shared memory.
  const TileMachine machine = mi300x();
  const TiledProduct product = fp16(4096, 4096, 4096);
  int fitting = 0;
  for (const int m : {16, 32, 64, 128, 256}) {
    for (const int n : {16, 32, 64, 128, 256}) {
      for (const int k : {16, 32, 64, 128, 256, 512}) fitting += (m + n) * k * 2 <= 65536;
    }
  }
  EXPECT_EQ(tile_candidates(product, machine).size(), static_cast<std::size_t>(fitting));
  EXPECT_GT(fitting, 100);
}

TEST(TileCandidates, FitSharedMemoryAndRegistersOnNvidia) {
  const TileMachine machine = tile_machine(load_gpu("h200-sxm", {}), DType::bf16);
  const TiledProduct product = tiled_product(4096, 4096, 4096, DType::bf16);
  // 256 x 256: 8 warps would hold 256 sums a thread, 16 warps 128, and no registers beside them.
  ProductTile tile{.m = 256, .n = 256, .k = 64, .warps = 8, .stages = 3};
  EXPECT_FALSE(is_feasible(product, tile, machine));
  tile.warps = 16;
  EXPECT_FALSE(is_feasible(product, tile, machine));
  tile = {.m = 128, .n = 256, .k = 64, .warps = 8, .stages = 4};
  EXPECT_TRUE(is_feasible(product, tile, machine));
  tile.stages = 5;  // of 48 KiB
  EXPECT_FALSE(is_feasible(product, tile, machine));
  for (const ProductTile& candidate : pipelined_candidates(product, machine)) {
    EXPECT_LE(shared_bytes(product, candidate, machine), 227 * 1024);
    EXPECT_LE(candidate.m * candidate.n / (32 * candidate.warps) + 40, 255);
  }
}

TEST(TileCandidates, SmallSharedMemoryLeavesSingleSlices) {
  TileMachine machine = tile_machine(load_gpu("h200-sxm", {}), DType::bf16);
  machine.shared_cta = 1500;  // a slice of 16 x 16 x 16 is 1,024 bytes, of 32 x 16 x 16 1,536
  const auto few = tile_candidates(tiled_product(64, 64, 64, DType::bf16), machine);
  ASSERT_EQ(few.size(), 1U);
  EXPECT_EQ(tile_text(few[0]), "16x16x16");
}

TEST(StreamK, GridsByHand) {
  const auto ranks = model("origami_2025");
  const TileMachine machine = mi300x();  // 304 units
  const auto grid = [&](GridPolicy policy, std::int64_t m, std::int64_t n, std::int64_t k) {
    return stream_k_grid(policy, *ranks, fp16(m, n, k), tile_128, machine);
  };
  // 32 x 32 = 1,024 tiles.
  EXPECT_EQ(grid(GridPolicy::data_parallel, 4096, 4096, 4096), 1024);
  EXPECT_EQ(grid(GridPolicy::min_resources, 4096, 4096, 4096), 304);
  EXPECT_EQ(grid(GridPolicy::number_of_cus, 128, 128, 4096), 304);
  // 4 tiles a unit need 256 of them: 84 % are enough.
  EXPECT_EQ(grid(GridPolicy::energy_aware, 4096, 4096, 4096), 256);
  // 1,024 / (3 + 1/2) = 292.6: 293 fractional tiles each; 1024 * 64 / 293 = 223 slices.
  EXPECT_EQ(grid(GridPolicy::k_split_aware, 4096, 4096, 4096), 293);
  // 16 tiles of 32 slices: 16 parts leave 2 slices, 4 parts leave 8.
  EXPECT_EQ(grid(GridPolicy::k_split_aware, 512, 512, 2048), 64);
  // 16 tiles of 64 slices, a quarter of the units or fewer: 64 / 8 = 8 parts.
  EXPECT_EQ(grid(GridPolicy::k_split_aware, 512, 512, 4096), 128);
  // The Python function takes every split back; 1,024 tiles leave 112 for the last round.
  EXPECT_EQ(grid(GridPolicy::tritonblas_python, 512, 512, 4096), 16);
  EXPECT_EQ(grid(GridPolicy::tritonblas_python, 4096, 4096, 4096), 256);
  EXPECT_EQ(grid(GridPolicy::tritonblas_python, 3072, 2688, 4096), 504);  // 200 left: no rule
  EXPECT_EQ(grid(GridPolicy::analytical, 4096, 4096, 4096), 1024);
  EXPECT_GT(grid(GridPolicy::analytical, 128, 256, 16384), 2);
  EXPECT_LE(grid(GridPolicy::reduction_cost_aware, 512, 512, 4096), 304);
  // Two tiles of a deep product are worth a cut; of 8 tiles a unit each takes its own.
  EXPECT_GT(grid(GridPolicy::cheapest, 128, 256, 65536), 2);
  EXPECT_EQ(grid(GridPolicy::cheapest, 2048, 19456, 512), 304);
}

TEST(TileBottleneck, FiveClasses) {
  TileMachine machine = tile_machine(load_gpu("h200-sxm", {}), DType::bf16);
  const auto of = [&](TileLatency latency, double share) {
    return classify(latency, machine, share);
  };
  EXPECT_EQ(of({.math = 9, .shared = 5, .l2 = 5, .active = 132}, 1), TileBottleneck::full_compute);
  EXPECT_EQ(of({.math = 9, .shared = 5, .l2 = 5, .active = 60}, 1),
            TileBottleneck::under_occupied_compute);
  EXPECT_EQ(of({.math = 5, .shared = 9, .l2 = 5, .active = 60}, 1),
            TileBottleneck::shared_bandwidth);
  EXPECT_EQ(of({.math = 5, .shared = 5, .dram = 9, .active = 132}, 1),
            TileBottleneck::cache_bandwidth);
  EXPECT_EQ(of({.math = 5, .shared = 5, .dram = 9, .active = 40}, 0.6), TileBottleneck::load_issue);
}

TEST(ParseSizes, TakesThreeAndNothingElse) {
  EXPECT_EQ(parse_sizes("4096x64x128"), (std::array<std::int64_t, 3>{4096, 64, 128}));
  for (const char* wrong :
       {"", "4096", "4096x64", "4096x64x", "4096x64x0", "-1x2x3", "1x2x3x4", "axbxc", "1 x2x3"}) {
    EXPECT_FALSE(parse_sizes(wrong)) << wrong;
  }
  EXPECT_FALSE(parse_tile("8192x64x64"));
}

}  // namespace
}  // namespace foretoken
