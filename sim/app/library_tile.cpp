#include "sim/app/library_tile.hpp"

#include <fmt/format.h>

#include <cmath>

#include "kernels/tiles/tile_choice.hpp"
#include "sim/base/unit_text.hpp"
#include "sim/report/rounding.hpp"
#include "sim/report/text_table.hpp"
#include "sim/run/catalogs.hpp"

namespace foretoken {
namespace {

double rounds_of(const TiledProduct& product, int tile_m, int tile_n, int split, int units) {
  const auto along = [](auto size, int tile) {
    return std::ceil(static_cast<double>(size) / tile);
  };
  return along(product.m, tile_m) * along(product.n, tile_n) * split / units;
}

/// "1.25 rounds of tiles (2 started, 62 % full)".
std::string filling(double rounds) {
  const double started = std::ceil(rounds);
  return fmt::format("{:.2f} waves of tiles ({:.0f} started, {:.0f} % full)", rounds, started,
                     100 * rounds / started);
}

/// Whole launches of cuBLAS, as PyTorch makes them.
Seconds library_time(const Gemm& product, const GpuSpec& gpu) {
  const auto predictor = make_predictor(Catalogs().predictors, "synperf", {});
  return predictor->predict(product, gpu).time;
}

/// cuBLAS's time over another's: 1 is as fast.
double speed(Seconds library, Seconds other) { return library / other; }

}  // namespace

std::optional<LibraryTile> library_tile(const TileSelector& selector, const TiledProduct& product,
                                        DType dtype, const TileChoice& chosen, const GpuSpec& gpu) {
  const Gemm gemm{.m = product.m,
                  .n = product.n,
                  .k = product.k,
                  .dtype = dtype,
                  .implementation = {.framework = Framework::pytorch}};
  const auto tile = profiled_cublas_tile(gemm, gpu);
  if (!tile) return std::nullopt;
  LibraryTile out{.m = tile->m,
                  .n = tile->n,
                  .k = tile->k,
                  .stages = tile->stages,
                  .split_k = tile->split_k,
                  .rounds = rounds_of(product, tile->m, tile->n, tile->split_k, gpu.sm_count),
                  .chosen_rounds = rounds_of(product, chosen.tile.m, chosen.tile.n,
                                             chosen.tile.split_k, gpu.sm_count),
                  .time = library_time(gemm, gpu),
                  .chosen_time = chosen.time,
                  .gaps = {}};
  const TileMachine& machine = selector.machine();
  for (const TileGap& gap : selector.model().gaps(product, chosen.tile, machine)) {
    out.gaps.push_back({gap, Seconds(gap.cycles / machine.clock)});
  }
  return out;
}

std::string LibraryTile::text(int width) const {
  std::string out = fmt::format(
      "\ncuBLAS takes {} (predicted); the first tile reaches {:.2f} of its speed\n"
      "  its tile is {}x{}x{}, {} stages, split-K {}: {}\n  the first tile: {}\n",
      readable(time), speed(time, chosen_time), m, n, k, stages, split_k, filling(rounds),
      filling(chosen_rounds));
  if (gaps.empty()) return out;
  TextTable table({{"missing from the first tile's plain loop", Align::left},
                   {"time with it", Align::right},
                   {"of cuBLAS's speed", Align::right}});
  table.add_row(
      {"as it is", readable(chosen_time), fmt::format("{:.2f}", speed(time, chosen_time))});
  for (const Gap& gap : gaps) {
    const std::string by = gap.cost.by.empty() ? "" : fmt::format(" ({})", gap.cost.by);
    table.add_row({std::string(gap.cost.what) + by, readable(gap.time),
                   fmt::format("{:.2f}", speed(time, gap.time))});
  }
  return out + table.text({.width = width, .colour = false});
}

Value LibraryTile::value() const {
  Value value = ValueObject{{"library", "cublas"},
                            {"tile", fmt::format("{}x{}x{}", m, n, k)},
                            {"stages", stages},
                            {"split_k", split_k},
                            {"rounds", rounded(rounds)},
                            {"chosen_rounds", rounded(chosen_rounds)},
                            {"time_us", rounded(time.value() * 1e6)},
                            {"chosen_speed", rounded(speed(time, chosen_time))}};
  Value without;
  for (const Gap& gap : gaps) {
    without.set(std::string(gap.cost.name),
                ValueObject{{"time_us", rounded(gap.time.value() * 1e6)},
                            {"speed", rounded(speed(time, gap.time))}});
  }
  if (!gaps.empty()) value.set("without", std::move(without));
  return value;
}

}  // namespace foretoken
