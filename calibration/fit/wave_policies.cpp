#include "calibration/fit/wave_policies.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <map>

#include "calibration/fit/judge_wave.hpp"
#include "kernels/tiles/moe_dispatch.hpp"

namespace foretoken {
namespace {

struct Column {
  const char* name;
  double PolicyRegrets::*regret;
  std::int64_t (*tuned)(std::int64_t tokens);  // null: by the histogram
};

constexpr std::array<Column, 5> columns = {
    {{"bucket", &PolicyRegrets::bucket,
      [](std::int64_t n) { return tuned_tokens(DispatchPolicy::bucket, n); }},
     {"finer bucket", &PolicyRegrets::finer_bucket, finer_bucket},
     {"static", &PolicyRegrets::fixed,
      [](std::int64_t n) { return tuned_tokens(DispatchPolicy::fixed, n); }},
     {"tuned at each", &PolicyRegrets::tuned_at_each, [](std::int64_t n) { return n; }},
     {"routing-aware", &PolicyRegrets::routing_aware, nullptr}}};

bool is_between(const MoeGridPoint& point) {
  return !std::has_single_bit(static_cast<std::uint64_t>(point.tokens));
}

/// Of one point; NaN for a choice that was not measured there.
PolicyRegrets regrets_at(const MoeGrid& grid, const MoeGridPoint& point,
                         MoeDispatcher& dispatcher) {
  const double best = point.times_us[best_tile(point)];
  PolicyRegrets regrets{.tokens = point.tokens, .points = 1};
  for (const Column& column : columns) {
    const std::size_t choice =
        column.tuned == nullptr
            ? dispatcher.choose(point.histogram)
            : tuned_choice(dispatcher, point.histogram, point.tokens, column.tuned(point.tokens));
    const auto tile = std::ranges::find(grid.tiles, dispatcher.tiles()[choice]);
    regrets.*column.regret =
        point.times_us[static_cast<std::size_t>(tile - grid.tiles.begin())] / best - 1;
  }
  return regrets;
}

void add(PolicyRegrets& sum, const PolicyRegrets& one) {
  ++sum.points;
  for (const Column& column : columns) sum.*column.regret += one.*column.regret;
}

}  // namespace

std::optional<std::size_t> fallback_tile(const MoeGrid& grid, const MoeGridPoint& point) {
  const bool is_8_bit = bytes_per_element(grid.dtype) < 2;
  const bool is_small = point.tokens <= point.layer.experts;
  // Its own; then what the grids, whose groups are 1 and 16 and whose slices 64, have of it.
  const std::array<MoeTile, 2> small = {{{16, 32, 64, 1, 1, 4, 3}, {16, 32, 64, 1, 1, 4, 3}}},
                               large = {{{64, 64, 32, 8, 1, 4, 3}, {64, 64, 64, 16, 1, 4, 3}}},
                               small_8_bit = {{{64, 128, 128, 1, 1, 4, 4},
                                               {64, 128, 128, 1, 1, 4, 4}}},
                               large_8_bit = {
                                   {{128, 256, 128, 32, 1, 8, 4}, {128, 256, 128, 16, 1, 8, 4}}};
  for (const MoeTile& wanted :
       is_8_bit ? (is_small ? small_8_bit : large_8_bit) : (is_small ? small : large)) {
    const auto found = std::ranges::find(grid.tiles, wanted);
    if (found != grid.tiles.end()) return static_cast<std::size_t>(found - grid.tiles.begin());
  }
  return std::nullopt;
}

std::vector<PolicyRegrets> judge_policies(const MoeGrid& grid, const WaveFitOptions& options) {
  const GpuSpec gpu = load_gpu(grid.gpu, {grid.source});
  std::map<std::int64_t, PolicyRegrets> by_tokens;
  PolicyRegrets all;
  for (const WaveFold& fold : wave_folds(grid, WaveSplit::folds)) {
    const auto between = [&](std::size_t i) { return is_between(grid.points[i]); };
    if (std::ranges::none_of(fold.held_out, between)) continue;
    const WaveProfile profile = fit_wave_profile(grid, fold.fitted, options);
    for (const std::size_t index : fold.held_out) {
      const MoeGridPoint& point = grid.points[index];
      if (!is_between(point)) continue;
      MoeDispatcher dispatcher(point.layer, gpu, profile);
      const PolicyRegrets regrets = regrets_at(grid, point, dispatcher);
      if (std::ranges::any_of(
              columns, [&](const Column& each) { return std::isnan(regrets.*each.regret); })) {
        continue;
      }
      add(by_tokens[point.tokens], regrets);
      add(all, regrets);
    }
  }
  std::vector<PolicyRegrets> means;
  const auto add_mean = [&](std::int64_t tokens, PolicyRegrets sum) {
    sum.tokens = tokens;
    for (const Column& column : columns) sum.*column.regret /= sum.points;
    means.push_back(sum);
  };
  for (const auto& [tokens, sum] : by_tokens) add_mean(tokens, sum);
  if (all.points > 0) add_mean(0, all);
  return means;
}

std::string policy_table(const MoeGrid& grid, const WaveFitOptions& options) {
  const std::vector<PolicyRegrets> rows = judge_policies(grid, options);
  if (rows.empty()) return "";
  std::string text = fmt::format(
      "policies between powers of two ({}): mean % behind the measured best, choices from times "
      "fitted on other batch sizes\n{:<8} {:>6}",
      grid.source, "tokens", "points");
  for (const Column& column : columns) text += fmt::format(" {:>14}", column.name);
  text += '\n';
  for (const PolicyRegrets& row : rows) {
    text += fmt::format("{:<8} {:>6}", row.tokens == 0 ? "all" : std::to_string(row.tokens),
                        row.points);
    for (const Column& column : columns)
      text += fmt::format(" {:>14.2f}", 100 * row.*column.regret);
    text += '\n';
  }
  return text;
}

}  // namespace foretoken
