// Our own tile model, with constants that leave one part of it at a time, and their file format.
#include "kernels/tiles/pipelined_tile.hpp"

#include <gmock/gmock.h>

#include "kernels/tiles/pipelined_search.hpp"
#include "kernels/tiles/tile_selector.hpp"
#include "sim/base/json.hpp"
#include "sim/base/random.hpp"

namespace foretoken {
std::unique_ptr<TileModel> make_foretoken_2026(const TileConstants& constants);
}  // namespace foretoken

namespace foretoken::pipelined_tile_test {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TileMachine h200() { return tile_machine(load_gpu("h200-sxm", {}), DType::bf16); }

/// Only the matrix pipes and 100 cycles a CTA count.
TileConstants bare_constants() {
  constexpr double endless = 1e12;
  TileConstants constants;
  constants.group_math = 1;
  constants.slice = constants.wide_slice = constants.shared = 0;
  constants.l2_burst = constants.l2_share = constants.dram = constants.sustained = endless;
  constants.miss_cost = constants.hot_line = constants.latency = constants.result = 0;
  constants.tile = 100;
  constants.reduce = 1000;
  constants.reduce_bytes = 0;
  return constants;
}

/// So deep a pipeline that its filling does not show, and one CTA a unit.
constexpr ProductTile deep{.m = 128, .n = 128, .k = 64, .warps = 4, .stages = 100000};

double cycles(std::int64_t m, std::int64_t n, std::int64_t k, const ProductTile& tile = deep,
              const TileConstants& constants = bare_constants()) {
  return pipelined_tile(tiled_product(m, n, k, DType::bf16), tile, h200(), constants).total;
}

// 128 x 128 x 64 at 4,096 operations a cycle: 512 cycles a slice; 16 slices and 100 cycles.
TEST(PipelinedTile, CountsRoundsOfUnits) {
  EXPECT_NEAR(cycles(128, 128, 1024), 16 * 512 + 100, 0.1);
  EXPECT_NEAR(cycles(128, 132 * 128, 1024), 16 * 512 + 100, 0.1);
  EXPECT_NEAR(cycles(128, 133 * 128, 1024), 2 * (16 * 512 + 100), 0.1);
}

TEST(PipelinedTile, ASplitSharesSlicesAndAddsAKernel) {
  ProductTile split = deep;
  split.split_k = 4;
  EXPECT_NEAR(cycles(128, 128, 1024, split), 4 * 512 + 100 + 1000, 0.1);
}

TEST(PipelinedTile, LatencyIsHiddenByStages) {
  TileConstants constants = bare_constants();
  constants.latency = 5120;  // ten slices
  ProductTile tile = deep;
  tile.stages = 3;  // two are asked for ahead: (5,120 + 512) / 2 against 512
  const double slice = cycles(128, 128, 64 * 100, tile, constants) / 100;
  EXPECT_NEAR(slice, 2816, 3);
  tile.stages = 2;
  EXPECT_GT(cycles(128, 128, 6400, tile, constants),
            1.9 * cycles(128, 128, 6400, {.stages = 3}, constants));
}

// Two CTAs a unit share its pipes: a round of both takes as long as two rounds of one.
TEST(PipelinedTile, CtasThatShareAUnitShareItsPipes) {
  ProductTile two = deep;
  two.stages = 3;  // 96 KiB of 228
  EXPECT_EQ(resident_ctas(tiled_product(1, 1, 1, DType::bf16), two, h200()), 2);
  const double alone = cycles(128, 132 * 128, 64 * 1000, two);
  EXPECT_NEAR(cycles(128, 264 * 128, 64 * 1000, two) / alone, 2, 0.04);
}

// One row of a tile of 64: the other 63 ask for the same lines.
TEST(PipelinedTile, RowsBeyondTheProductAreHot) {
  TileConstants constants = bare_constants();
  constants.hot_line = 0.1;
  const ProductTile tile{.m = 64, .n = 64, .k = 128, .warps = 4, .stages = 4};
  EXPECT_GT(cycles(1, 8192, 8192, tile, constants), 2 * cycles(64, 8192, 8192, tile, constants));
}

TEST(PipelinedTile, TallGroupsSpareDram) {
  const TileMachine machine = h200();
  // Two rows of tiles: walked one after the other, each reads all of B.
  const TiledProduct product = tiled_product(128, 8192, 8192, DType::bf16);
  const ProductTile tile{.m = 64, .n = 128, .k = 128, .warps = 4, .stages = 4};
  EXPECT_GE(cheapest_group(product, tile, machine, TileConstants{}), 2);
}

// Products at half the rate, 50 cycles beside them a slice, 100 a tile: 16 slices of 1,074 and 100.
TEST(PipelinedTile, GapsTakeOneCostAwayEach) {
  TileConstants constants = bare_constants();
  constants.group_math = 0.5;
  constants.slice = 50;
  const TiledProduct product = tiled_product(128, 128, 1024, DType::bf16);
  const auto gaps = pipelined_gaps(product, deep, h200(), constants);
  ASSERT_EQ(gaps.size(), 5U);
  EXPECT_NEAR(cycles(128, 128, 1024, deep, constants), 16 * 1074 + 100, 0.1);
  EXPECT_NEAR(gaps[0].cycles, 16 * 512 + 100, 0.1);
  EXPECT_NEAR(gaps[1].cycles, 16 * 1074, 0.1);
  EXPECT_NEAR(gaps[2].cycles, 16 * 1074 + 100, 0.1);
  EXPECT_NEAR(gaps[3].cycles, 16 * 1074 + 100, 0.1);
  EXPECT_EQ(gaps[4].name, "all");
  EXPECT_NEAR(gaps[4].cycles, 16 * 512, 0.1);
}

double stream_k(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t grid,
                const TileConstants& constants, const ProductTile& tile = deep) {
  return stream_k_cycles(tiled_product(m, n, k, DType::bf16), tile, grid, h200(), constants);
}

/// Beside the matrix pipes 100 cycles a tile, 50 for each further one, 1,000 where tiles are cut.
TileConstants stream_k_constants() {
  TileConstants constants = bare_constants();
  constants.next_tile = 0.5;
  constants.partner = 1000;
  constants.partner_bytes = constants.unaligned = 0;
  return constants;
}

// Tiles of 128 x 128 and 16 slices of 512 cycles each.
TEST(StreamK, ACtaATileCostsWhatTheTileDoes) {
  const TileConstants constants = embedded_tile_constants();
  for (const std::int64_t n : {128, 128 * 132, 128 * 500}) {
    EXPECT_EQ(stream_k(300, n, 4096, 3 * n / 128, constants, {.stages = 4}),
              cycles(300, n, 4096, {.stages = 4}, constants));
  }
}

TEST(StreamK, WholeSplitsShareSlices) {
  const TileConstants constants = stream_k_constants();
  EXPECT_NEAR(stream_k(128, 128, 1024, 4, constants), 4 * 512 + 100 + 1000, 0.1);
  EXPECT_NEAR(stream_k(128, 256, 1024, 32, constants), 512 + 100 + 1000, 0.1);
}

TEST(StreamK, AGridThatDividesTilesWalksThem) {
  const TileConstants constants = stream_k_constants();
  // 264 tiles over 132 CTAs: two each, nothing is cut.
  EXPECT_NEAR(stream_k(128, 264 * 128, 1024, 132, constants), 2 * 16 * 512 + 100 + 50, 0.1);
}

TEST(StreamK, RunsThatCutTilesWaitForPartners) {
  TileConstants constants = stream_k_constants();
  // 133 tiles over 132 CTAs: 2,128 / 132 = 16.1 slices, so 17 of up to two tiles.
  EXPECT_NEAR(stream_k(128, 133 * 128, 1024, 132, constants), 17 * 512 + 100 + 50 + 1000, 0.1);
  // Their parts: 128 x 128 x 4 bytes at a unit's even share of L2.
  constants.partner_bytes = 1;
  const TileMachine machine = h200();
  EXPECT_NEAR(stream_k(128, 133 * 128, 1024, 132, constants) - (17 * 512 + 1150),
              65536.0 * machine.units / machine.l2_rate, 0.1);
}

// Two rows of tiles share 64 MB columns of B, which L2 does not hold: read twice where they are at
// different depths. Whole splits keep step.
TEST(StreamK, UnalignedRunsReadOperandsAgain) {
  TileConstants constants = stream_k_constants();
  constants.partner = 0;
  constants.dram = 1e-3;  // nothing but DRAM counts
  ProductTile tile = deep;
  tile.group_m = 2;
  const double aligned = stream_k(256, 4096, 8192, 128, constants, tile);
  EXPECT_NEAR(stream_k(256, 4096, 8192, 66, constants, tile) / aligned, 1, 1e-4);
  constants.unaligned = 1;
  EXPECT_EQ(stream_k(256, 4096, 8192, 128, constants, tile), aligned);
  EXPECT_GT(stream_k(256, 4096, 8192, 66, constants, tile), 1.5 * aligned);
}

/// Sides and depths from 1 to 2^14 and 2^16, as likely in each power of two.
TiledProduct drawn_product(RandomStream& random, DType dtype) {
  const auto drawn = [&](double log2_max) {
    return static_cast<std::int64_t>(std::exp2(log2_max * uniform(random)));
  };
  TiledProduct product = tiled_product(drawn(14), drawn(16), drawn(15), dtype);
  if (uniform(random) < 0.2) product.batch = drawn(7);
  return product;
}

constexpr int drawn_products = 2000;

TEST(PipelinedSearch, FindsWhatTryingEveryTileFinds) {
  RandomStream random(1);
  for (const char* gpu : {"h200-sxm", "b200-sxm", "a100-sxm", "rtx-pro-6000-server", "mi300x"}) {
    for (const DType dtype : {DType::bf16, DType::fp8}) {
      const GpuSpec spec = load_gpu(gpu, {});
      if (spec.tensor_rate(dtype).value() <= 0) continue;
      const TileSelector selector(spec, dtype, "foretoken_2026");
      const auto every =
          exhaustive_search(selector.model(), selector.candidates(), selector.machine());
      for (int i = 0; i < drawn_products / 8; ++i) {
        const TiledProduct product = drawn_product(random, dtype);
        const ProductTile tile =
            selector.model().finished(product, every->best(product), selector.machine());
        const TileChoice choice = selector.select_cold(product);
        ASSERT_EQ(choice.tile, tile) << gpu << " " << product.m << "x" << product.n << "x"
                                     << product.k << " batch " << product.batch;
        ASSERT_EQ(choice.latency.total,
                  selector.model().latency(product, tile, selector.machine()).total);
      }
    }
  }
}

// Where DRAM alone counts, most tiles take the same time to the bit.
TEST(PipelinedSearch, BreaksTiesAsTryingEveryTileDoes) {
  TileConstants constants = bare_constants();
  constants.tile = constants.warp_step = constants.warp_slice = 0;
  constants.thin_row = constants.reread = constants.reduce = 0;
  constants.far_columns = constants.group_math = 1e12;
  constants.dram = 1e-6;
  const auto model = make_foretoken_2026(constants);
  const TileMachine machine = h200();
  const TiledProduct format = tiled_product(1, 1, 1, DType::bf16);
  const auto candidates = pipelined_candidates(format, machine);
  const auto every = exhaustive_search(*model, candidates, machine);
  const auto search = model->search(format, candidates, machine);
  RandomStream random(2);
  int ties = 0;
  for (int i = 0; i < drawn_products / 8; ++i) {
    const TiledProduct product = drawn_product(random, DType::bf16);
    const ProductTile tile = every->best(product);
    ASSERT_EQ(search->best(product), tile)
        << product.m << "x" << product.n << "x" << product.k << " batch " << product.batch;
    const double best = model->rank_cycles(product, tile, machine);
    for (const ProductTile& candidate : candidates) {
      const ProductTile other = model->prepared(product, candidate, machine);
      ties += !(other == tile) && model->rank_cycles(product, other, machine) == best;
    }
  }
  EXPECT_GT(ties, drawn_products);
}

TEST(PipelinedSearch, BoundsAreNeverMoreThanThePrice) {
  RandomStream random(3);
  const TileMachine machine = h200();
  const TileConstants& constants = embedded_tile_constants();
  const TiledProduct format = tiled_product(1, 1, 1, DType::bf16);
  std::vector<PipelinedTile> tiles;
  for (const ProductTile& tile : pipelined_candidates(format, machine)) {
    tiles.emplace_back(format, tile, machine, constants);
  }
  double close = 0;
  for (int i = 0; i < drawn_products / 8; ++i) {
    const TiledProduct sizes = drawn_product(random, DType::bf16);
    const PipelinedProduct product(sizes, machine, constants);
    for (const PipelinedTile& tile : tiles) {
      const auto count = static_cast<double>(tile_grid(sizes, tile.tile).tiles()) * product.batch;
      const double slices = std::ceil(static_cast<double>(sizes.k) / tile.tile.k);
      for (const int split : {1, 4}) {
        const double least =
            pipelined_cycles_least(product, tile, count, slices, split, machine, constants);
        const double cycles = pipelined_cycles(product, tile, 1, split, machine, constants);
        ASSERT_LE(least, cycles) << tile_text(tile.tile) << " split " << split;
        close += least > 0.8 * cycles;
      }
    }
  }
  // A bound that says little prices everything.
  EXPECT_GT(close / (drawn_products / 8.0) / (2.0 * static_cast<double>(tiles.size())), 0.6);
}

TEST(PipelinedSearch, RefusesAnotherFormat) {
  const TileSelector selector(load_gpu("h200-sxm", {}), DType::bf16, "foretoken_2026");
  EXPECT_THROW((void)selector.select_cold(tiled_product(64, 64, 64, DType::fp8)), InternalError);
}

TEST(TileConstants, ReadsWhatItWrote) {
  const TileConstants& constants = embedded_tile_constants();
  const Value value = parse_json(to_json(tile_constants_value(constants, {})), {"c.json"});
  const TileConstants read = read_tile_constants(value);
  for (const TileConstants::Field& field : TileConstants::fields()) {
    EXPECT_DOUBLE_EQ(read.*field.member, constants.*field.member) << field.name;
  }
}

TEST(TileConstants, RefusesWhatIsMissing) {
  const auto read = [](const char* text) {
    return [text] { (void)read_tile_constants(parse_json(text, {"c.json"})); };
  };
  EXPECT_THAT(read(R"({"format": "other"})"),
              ThrowsMessage<ConfigError>(HasSubstr("foretoken tile constants 1")));
  EXPECT_THAT(
      read(R"({"format": "foretoken tile constants 1", "constants": {"group_math": -1.0}})"),
      ThrowsMessage<ConfigError>(HasSubstr("positive number 'group_math'")));
}

TEST(DefaultTileModel, IsThePublishedOneOnAmd) {
  EXPECT_EQ(TileSelector(load_gpu("mi300x", {}), DType::bf16).model_name(), "origami_2025");
  EXPECT_EQ(TileSelector(load_gpu("b200-sxm", {}), DType::bf16).model_name(), "foretoken_2026");
}

}  // namespace
}  // namespace foretoken::pipelined_tile_test
