#include "kernels/tiles/tile_pool.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/base/json.hpp"
#include "sim/base/table_reader.hpp"

namespace foretoken {
namespace {

constexpr std::string_view pool_format = "foretoken tile pool 1";
constexpr std::size_t nothing_left_out = std::numeric_limits<std::size_t>::max();

DType family_of(DType dtype) { return dtype == DType::fp16 ? DType::bf16 : dtype; }

/// Squared distance of two products' sizes, in natural logarithms.
double distance(const TiledProduct& a, const TiledProduct& b) {
  double sum = 0;
  for (const auto size : {&TiledProduct::m, &TiledProduct::n, &TiledProduct::k}) {
    const double apart = std::log(static_cast<double>(a.*size) / static_cast<double>(b.*size));
    sum += apart * apart;
  }
  return sum;
}

/// Calls read(table) for each table of the array `key`.
template <class Read>
void for_each_table(TableReader& reader, const char* key, Diagnostics& diagnostics, Read read) {
  const Value* const found = reader.find(key);
  if (found == nullptr || !found->is_array() || std::get<ValueArray>(found->data).empty()) {
    reader.fail(key, "must be an array of at least one");
    return;
  }
  for (const Value& element : std::get<ValueArray>(found->data)) {
    if (!element.is_object()) {
      reader.fail(key, "holds something that is not an object");
      return;
    }
    TableReader table(element, diagnostics, key);
    read(table);
    table.finish();
  }
}

void read_size(TableReader& table, std::string_view key, auto& to, std::int64_t most) {
  if (table.require(key, to)) {
    table.expect(key, to >= 1 && to <= most, fmt::format("must be from 1 to {}", most));
  }
}

}  // namespace

bool TilePool::covers(const GpuSpec& of, DType format) const {
  return of.name == gpu && family_of(format) == family_of(dtype);
}

std::string write_tile_pool(const TilePool& pool, const ValueObject& provenance) {
  ValueArray shapes, tiles;
  for (const TiledProduct& shape : pool.shapes) {
    shapes.emplace_back(ValueObject{{"m", shape.m}, {"n", shape.n}, {"k", shape.k}});
  }
  for (const PooledTile& one : pool.tiles) {
    tiles.emplace_back(
        ValueObject{{"m", one.tile.m},
                    {"n", one.tile.n},
                    {"k", one.tile.k},
                    {"warps", one.tile.warps},
                    {"stages", one.tile.stages},
                    {"group_m", one.tile.group_m},
                    {"split_k", one.tile.split_k},
                    {"parameters", one.parameters},
                    {"times_us", ValueArray(one.times_us.begin(), one.times_us.end())}});
  }
  return to_json(ValueObject{{"format", std::string(pool_format)},
                             {"provenance", provenance},
                             {"kernel", pool.kernel},
                             {"gpu", pool.gpu},
                             {"dtype", std::string(enum_name(pool.dtype))},
                             {"shapes", std::move(shapes)},
                             {"tiles", std::move(tiles)}}) +
         "\n";
}

TilePool read_tile_pool(const Value& root, const std::string& file) {
  const Value* const format = root.is_object() ? root.find("format") : nullptr;
  const auto* const name = format == nullptr ? nullptr : std::get_if<std::string>(&format->data);
  if (name == nullptr || *name != pool_format) {
    throw ConfigError({file}, fmt::format("is not a pool of tiles ('{}'); write one with "
                                          "`foretoken-tune export --as pool`",
                                          pool_format));
  }
  constexpr std::int64_t size_max = 1'000'000'000, side_max = 4096;
  Diagnostics diagnostics;
  TableReader table(root, diagnostics, "");
  static_cast<void>(table.find("format"));
  static_cast<void>(table.find("provenance"));
  TilePool pool;
  pool.file = file;
  table.require("kernel", pool.kernel);
  table.require("gpu", pool.gpu);
  table.require("dtype", pool.dtype);
  for_each_table(table, "shapes", diagnostics, [&](TableReader& shape) {
    std::int64_t m = 1, n = 1, k = 1;
    read_size(shape, "m", m, size_max);
    read_size(shape, "n", n, size_max);
    read_size(shape, "k", k, size_max);
    pool.shapes.push_back(tiled_product(m, n, k, pool.dtype));
  });
  for_each_table(table, "tiles", diagnostics, [&](TableReader& tile) {
    PooledTile& one = pool.tiles.emplace_back();
    read_size(tile, "m", one.tile.m, side_max);
    read_size(tile, "n", one.tile.n, side_max);
    read_size(tile, "k", one.tile.k, side_max);
    read_size(tile, "warps", one.tile.warps, 64);
    read_size(tile, "stages", one.tile.stages, 64);
    read_size(tile, "group_m", one.tile.group_m, side_max);
    read_size(tile, "split_k", one.tile.split_k, side_max);
    tile.read("parameters", one.parameters);
    if (tile.require("times_us", one.times_us)) {
      tile.expect("times_us", one.times_us.size() == pool.shapes.size(),
                  "needs one time per shape");
      tile.expect(
          "times_us",
          std::ranges::all_of(one.times_us, [](double t) { return std::isfinite(t) && t > 0; }),
          "must be above 0");
    }
  });
  table.finish();
  diagnostics.throw_if_any();
  return pool;
}

TilePool load_tile_pool(const std::string& path) { return read_tile_pool(load_json(path), path); }

PooledTiles::PooledTiles(TilePool pool, const TileSelector& selector)
    : pool_(std::move(pool)), selector_(&selector) {
  for (const PooledTile& one : pool_.tiles) {
    std::vector<double>& ratios = log_ratios_.emplace_back();
    for (std::size_t i = 0; i < pool_.shapes.size(); ++i) {
      const double model_us = selector.priced(pool_.shapes[i], one.tile).time.value() * 1e6;
      ratios.push_back(std::log(one.times_us[i] / model_us));
    }
  }
  judge();
}

/// Shepard's interpolation, weights of one over the fourth power of the distance: exact at
/// measured shapes, and far from all of them their mean.
double PooledTiles::log_ratio(std::size_t tile, const TiledProduct& product,
                              std::size_t left_out) const {
  constexpr double nearest = 1e-12;
  double sum = 0, weights = 0;
  for (std::size_t i = 0; i < pool_.shapes.size(); ++i) {
    if (i == left_out) continue;
    const double apart = std::max(nearest, distance(product, pool_.shapes[i]));
    const double weight = 1 / (apart * apart);
    sum += weight * log_ratios_[tile][i];
    weights += weight;
  }
  return sum / weights;
}

void PooledTiles::judge() {
  if (pool_.shapes.size() < 2) return;
  HeldOut held_out;
  for (std::size_t i = 0; i < pool_.shapes.size(); ++i) {
    double error = 0, chosen_predicted = std::numeric_limits<double>::infinity();
    double chosen = 0, best = std::numeric_limits<double>::infinity();
    for (std::size_t tile = 0; tile < pool_.tiles.size(); ++tile) {
      const double measured = pool_.tiles[tile].times_us[i];
      const double predicted =
          measured * std::exp(log_ratio(tile, pool_.shapes[i], i) - log_ratios_[tile][i]);
      error += std::abs(predicted / measured - 1);
      if (predicted < chosen_predicted) {
        chosen_predicted = predicted;
        chosen = measured;
      }
      best = std::min(best, measured);
    }
    held_out.time_error += error / static_cast<double>(pool_.tiles.size());
    held_out.regret += chosen / best - 1;
  }
  held_out.time_error /= static_cast<double>(pool_.shapes.size());
  held_out.regret /= static_cast<double>(pool_.shapes.size());
  held_out_ = held_out;
}

std::vector<PooledTiles::Choice> PooledTiles::ranked(const TiledProduct& product, PoolUse use,
                                                     std::size_t count) const {
  const bool is_measured = std::ranges::any_of(
      pool_.shapes, [&](const TiledProduct& shape) { return distance(product, shape) == 0; });
  std::vector<Choice> choices;
  if (product.batch == 1) {
    for (std::size_t tile = 0; tile < pool_.tiles.size(); ++tile) {
      const PooledTile& pooled = pool_.tiles[tile];
      TileChoice choice = selector_->priced(product, pooled.tile);
      choice.time = choice.time * std::exp(log_ratio(tile, product, nothing_left_out));
      choices.push_back({choice, &pooled, is_measured});
    }
  }
  if (use == PoolUse::extend || choices.empty()) {
    for (const TileChoice& choice : selector_->ranked(product, count)) {
      choices.push_back({choice, nullptr, false});
    }
  }
  std::ranges::stable_sort(
      choices, [](const Choice& a, const Choice& b) { return a.choice.time < b.choice.time; });
  if (choices.size() > count) choices.resize(count);
  return choices;
}

}  // namespace foretoken
