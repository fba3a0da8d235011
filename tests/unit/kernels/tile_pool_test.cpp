// Pools of tuned tiles: measured times where they were measured, near ones elsewhere.
#include "kernels/tiles/tile_pool.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <fstream>

#include "kernels/predictor.hpp"
#include "sim/base/json.hpp"
#include "sim/base/table_reader.hpp"
#include "tests/own_folder.hpp"

namespace foretoken::tile_pool_test {
namespace {

using testing::HasSubstr;

class Pool : public testing::Test {
 protected:
  GpuSpec gpu = load_gpu("h200-sxm", {});
  TileSelector selector{gpu, DType::bf16};
  ProductTile small{.m = 64, .n = 64, .k = 64, .warps = 4, .stages = 3};
  ProductTile large{.m = 128, .n = 128, .k = 64, .warps = 8, .stages = 3};

  [[nodiscard]] double model_us(const TiledProduct& product, const ProductTile& tile) const {
    return selector.priced(product, tile).time.value() * 1e6;
  }
  /// The model's times, times a factor by tile and shape.
  [[nodiscard]] TilePool pool_of(const std::vector<TiledProduct>& shapes,
                                 const std::vector<std::vector<double>>& factors) const {
    TilePool pool{"mine", "h200-sxm", DType::bf16, shapes, {}, "mine.json"};
    for (std::size_t t = 0; t < factors.size(); ++t) {
      PooledTile& one = pool.tiles.emplace_back();
      one.tile = t == 0 ? small : large;
      one.parameters = t == 0 ? "T=0" : "T=1";
      for (std::size_t i = 0; i < shapes.size(); ++i) {
        one.times_us.push_back(factors[t][i] * model_us(shapes[i], one.tile));
      }
    }
    return pool;
  }
};

TiledProduct product(std::int64_t m, std::int64_t n = 4096, std::int64_t k = 4096) {
  return tiled_product(m, n, k, DType::bf16);
}

TEST_F(Pool, IsExactAtMeasuredShapes) {
  const PooledTiles tiles(pool_of({product(256), product(4096)}, {{2, 3}, {5, 4}}), selector);
  const auto ranked = tiles.ranked(product(256), PoolUse::only, 5);
  ASSERT_EQ(ranked.size(), 2U);
  for (const auto& one : ranked) {
    EXPECT_TRUE(one.is_measured);
    EXPECT_EQ(one.origin(), Origin::measured);
    EXPECT_NEAR(one.choice.time.value() * 1e6, one.pooled->times_us[0], 1e-9);
  }
  EXPECT_LE(ranked[0].choice.time, ranked[1].choice.time);
}

TEST_F(Pool, TakesTheGeometricMeanMidway) {
  // 1024 is as far from 256 as from 4096: factors 2 and 8 make 4.
  const PooledTiles tiles(pool_of({product(256), product(4096)}, {{2, 8}}), selector);
  const auto ranked = tiles.ranked(product(1024), PoolUse::only, 1);
  EXPECT_EQ(ranked[0].origin(), Origin::adapted);
  EXPECT_NEAR(ranked[0].choice.time.value() * 1e6, 4 * model_us(product(1024), small), 1e-6);
  // At a third of the way, weights are 16 to 1: 2^(16/17) 8^(1/17).
  const double at_third = tiles.ranked(product(645), PoolUse::only, 1)[0].choice.time.value() * 1e6;
  const double expected = std::exp((16 * std::log(2.0) + std::log(8.0)) / 17);
  EXPECT_NEAR(at_third / model_us(product(645), small), expected, 0.01);
}

TEST_F(Pool, ExtendsByTheModelsOwnTiles) {
  const TileChoice own = selector.ranked(product(512), 1).front();
  const PooledTiles slow(pool_of({product(512)}, {{50}}), selector);
  EXPECT_EQ(slow.ranked(product(512), PoolUse::only, 1)[0].pooled->parameters, "T=0");
  const auto extended = slow.ranked(product(512), PoolUse::extend, 1)[0];
  EXPECT_EQ(extended.pooled, nullptr);
  EXPECT_EQ(extended.origin(), Origin::analytic);
  EXPECT_EQ(extended.choice.time, own.time);
  const PooledTiles quick(pool_of({product(512)}, {{0.01}}), selector);
  EXPECT_NE(quick.ranked(product(512), PoolUse::extend, 1)[0].pooled, nullptr);
}

TEST_F(Pool, LeavesBatchesToTheModel) {
  TiledProduct batched = product(512);
  batched.batch = 8;
  const PooledTiles tiles(pool_of({product(512)}, {{50}}), selector);
  EXPECT_EQ(tiles.ranked(batched, PoolUse::only, 1)[0].pooled, nullptr);
}

TEST_F(Pool, JudgesItselfWithAShapeLeftOut) {
  // From 2 one expects 2, from 3 one expects 3: times off by 3/2 - 1 and 1 - 2/3; with a single
  // tile no choice is wrong.
  const PooledTiles one(pool_of({product(256), product(4096)}, {{2, 3}}), selector);
  ASSERT_TRUE(one.held_out().has_value());
  EXPECT_NEAR(one.held_out()->time_error, (1.0 / 2 + 1.0 / 3) / 2, 1e-9);
  EXPECT_EQ(one.held_out()->regret, 0);
  EXPECT_FALSE(PooledTiles(pool_of({product(256)}, {{2}}), selector).held_out().has_value());
}

TEST_F(Pool, ReadsWhatItWrites) {
  TilePool pool = pool_of({product(256), product(4096)}, {{2, 3}, {5, 4}});
  pool.tiles[1].tile.group_m = 8;
  const std::string text = write_tile_pool(pool, {{"made_by", "a test"}});
  const TilePool again = read_tile_pool(parse_json(text, {"again.json"}), "again.json");
  EXPECT_EQ(again.kernel, "mine");
  EXPECT_EQ(again.shapes, pool.shapes);
  ASSERT_EQ(again.tiles.size(), 2U);
  EXPECT_EQ(again.tiles[1].tile, pool.tiles[1].tile);
  EXPECT_EQ(again.tiles[1].times_us, pool.tiles[1].times_us);
  EXPECT_EQ(write_tile_pool(again, {{"made_by", "a test"}}), text);
  EXPECT_TRUE(again.covers(gpu, DType::fp16));
  EXPECT_FALSE(again.covers(gpu, DType::fp8));
  EXPECT_FALSE(again.covers(load_gpu("b200-sxm", {}), DType::bf16));
}

TEST_F(Pool, SaysWhatIsWrongWithAFile) {
  const auto message = [](const std::string& text) {
    try {
      read_tile_pool(parse_json(text, {"bad.json"}), "bad.json");
    } catch (const ConfigError& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_THAT(message("[]"), HasSubstr("is not a pool of tiles"));
  EXPECT_THAT(message(R"({"format": "other"})"), HasSubstr("foretoken-tune export --as pool"));
  const std::string head = R"({"format": "foretoken tile pool 1", "kernel": "k", "gpu": "g",)"
                           R"( "dtype": "bf16", "shapes": [{"m": 1, "n": 2, "k": 3}], "tiles": [)";
  EXPECT_THAT(message(head + "]}"), HasSubstr("tiles"));
  const std::string tile = R"({"m": 64, "n": 64, "k": 64, "warps": 4, "stages": 3, "group_m": 1, )";
  EXPECT_THAT(message(head + tile + R"("split_k": 1, "times_us": [1, 2]}]})"),
              HasSubstr("needs one time per shape"));
  EXPECT_THAT(message(head + tile + R"("split_k": 0, "times_us": [-1]}]})"),
              testing::AllOf(HasSubstr("split_k"), HasSubstr("must be above 0")));
  EXPECT_THAT(message(head + tile + R"("split": 1, "times_us": [1]}]})"), HasSubstr("split_k"));
}

TEST_F(Pool, PricesProductsInThePredictor) {
  const std::string path = (own_folder() / "pool.json").string();
  {
    std::ofstream file(path);
    file << write_tile_pool(pool_of({product(256)}, {{7}}), {});
  }
  const auto predictor = [&](const std::string& options) {
    const Value table = parse_json(options, {"options"});
    Diagnostics diagnostics;
    TableReader reader(table, diagnostics, "predictor");
    auto made = predictor_catalog().find("tritonblas", {}).make(reader);
    reader.finish();
    diagnostics.throw_if_any();
    return made;
  };
  const auto pooled = predictor(R"({"pool": ")" + path + R"("})");
  const Kernel gemm = Gemm{.m = 256, .n = 4096, .k = 4096, .dtype = DType::bf16};
  const Prediction price = pooled->predict(gemm, gpu);
  EXPECT_EQ(price.origin, Origin::measured);
  EXPECT_NEAR(price.time.value() * 1e6, 7 * model_us(product(256), small), 1e-6);
  const Kernel other = Gemm{.m = 256, .n = 4096, .k = 4096, .dtype = DType::fp8};
  EXPECT_EQ(pooled->predict(other, gpu).origin, Origin::analytic) << "of another format";
  EXPECT_THROW(static_cast<void>(pooled->predict(gemm, load_gpu("b200-sxm", {}))), PredictionError);
  EXPECT_EQ(
      predictor(R"({"pool": ")" + path + R"(", "pool_use": "extend"})")->predict(gemm, gpu).origin,
      Origin::analytic);
  EXPECT_THROW(predictor(R"({"pool_use": "extend"})"), ConfigError);
  EXPECT_THROW(predictor(R"({"pool": "/no/such/file.json"})"), ConfigError);
  EXPECT_THROW(predictor(R"({"tile": "64x64x64", "pool": ")" + path + R"("})"), ConfigError);
}

}  // namespace
}  // namespace foretoken::tile_pool_test
