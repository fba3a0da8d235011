#include "calibration/datasets/moe_grid.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>

#include "sim/base/error.hpp"
#include "workloads/measurements/csv_rows.hpp"
#include "workloads/measurements/measured_rows.hpp"

namespace foretoken {
namespace {

constexpr double unmeasured = std::numeric_limits<double>::quiet_NaN();
/// Beyond any layer, and small enough for products of two of them.
constexpr std::int64_t size_max = 100'000'000;
constexpr std::int64_t experts_max = 100'000;

std::int64_t integer_in(std::string_view text, const SourcePosition& position) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) {
    throw ConfigError(position, fmt::format("histogram: '{}' is not a count", text));
  }
  return value;
}

/// "35|12|7*2|0*4" → 35, 12, 7, 7, 0, 0, 0, 0.
std::vector<std::int64_t> histogram_in(std::string_view text, std::int64_t experts,
                                       const SourcePosition& position) {
  std::vector<std::int64_t> counts;
  while (!text.empty()) {
    const std::size_t bar = text.find('|');
    const std::string_view entry = text.substr(0, bar);
    const std::size_t star = entry.find('*');
    const std::int64_t count = integer_in(entry.substr(0, star), position);
    const std::int64_t times =
        star == std::string_view::npos ? 1 : integer_in(entry.substr(star + 1), position);
    if (times > experts - std::ssize(counts))
      throw ConfigError(position, "histogram: more entries than experts");
    counts.insert(counts.end(), static_cast<std::size_t>(times), count);
    text = bar == std::string_view::npos ? std::string_view() : text.substr(bar + 1);
  }
  if (counts.size() != static_cast<std::size_t>(experts)) {
    throw ConfigError(position,
                      fmt::format("histogram: {} entries for {} experts", counts.size(), experts));
  }
  return counts;
}

class GridReader {
 public:
  GridReader(const std::filesystem::path& path, std::optional<DType> only)
      : rows_(path), only_(only) {
    const std::string_view format = rows_.provenance("format");
    is_grid_ = format == "foretoken moe grid 1";
    const bool is_dataset = format == "foretoken dataset 1" && rows_.find("block_m") >= 0;
    if (!is_grid_ && !is_dataset && format != "foretoken moe configurations 1") {
      throw ConfigError({path.string()},
                        "holds no times of mixture-of-experts configurations: its first line must "
                        "be '# format: foretoken moe grid 1'; measure with "
                        "calibration/measure/moe_grid_triton.py");
    }
    grid_.gpu = measured_gpu(rows_, path);
    grid_.sm_count = load_gpu(grid_.gpu, {path.string()}).sm_count;
  }

  MoeGrid read() {
    const auto column = [&](const char* name) { return rows_.column(name); };
    const int point = is_grid_ ? column("architecture") : rows_.find("problem");
    const int tokens = column("tokens"), experts = column("experts"), topk = column("topk"),
              hidden = column("hidden"), intermediate = column("intermediate"),
              dtype = column("dtype"), histogram = column("histogram"), time = column("time_us");
    const int balancedness = rows_.find("balancedness"), tp = rows_.find("tp");
    std::string key;
    while (rows_.next()) {
      const auto format = parse_enum<DType>(rows_.text(dtype));
      if (only_ && format && *format != *only_) continue;
      // A row of a dataset is a point of its own.
      std::string here = point < 0 ? std::to_string(grid_.points.size())
                                   : fmt::format("{} {} {}", rows_.text(point), rows_.text(tokens),
                                                 rows_.text(histogram));
      if (here != key || point < 0) {
        key = std::move(here);
        if (!format || (!grid_.points.empty() && *format != grid_.dtype)) {
          throw ConfigError(rows_.position(), "dtype: must be one number format in all rows");
        }
        grid_.dtype = *format;
        MoeGridPoint& added = grid_.points.emplace_back();
        const std::int64_t shards = tp < 0 ? 1 : whole(tp, size_max);
        added.layer = {static_cast<int>(whole(experts, experts_max)), whole(hidden, size_max),
                       whole(intermediate, size_max) / shards, *format};
        added.topk = static_cast<int>(whole(topk, added.layer.experts));
        added.tokens = whole(tokens, size_max);
        added.balancedness = balancedness < 0 ? 0 : rows_.number(balancedness);
        if (!(added.balancedness >= 0 && added.balancedness <= 1)) {
          throw ConfigError(rows_.position(), "balancedness: must be from 0 to 1");
        }
        added.architecture = is_grid_ ? std::string(rows_.text(point))
                                      : fmt::format("e{} h{} i{}", added.layer.experts,
                                                    added.layer.hidden, added.layer.intermediate);
        added.histogram =
            histogram_in(rows_.text(histogram), added.layer.experts, rows_.position());
        expect_all_assignments(added);
      }
      const double time_us = rows_.number(time);
      if (!std::isfinite(time_us) || time_us <= 0) {
        throw ConfigError(rows_.position(), "time_us: must be above 0");
      }
      MoeGridPoint& last = grid_.points.back();
      const std::size_t tile = tile_index();
      last.times_us.resize(std::max(last.times_us.size(), tile + 1), unmeasured);
      last.times_us[tile] = time_us;
    }
    if (grid_.points.empty() && !only_) throw ConfigError(rows_.position(), "holds no rows");
    for (MoeGridPoint& each : grid_.points) each.times_us.resize(grid_.tiles.size(), unmeasured);
    return std::move(grid_);
  }

 private:
  /// A cell that counts something: from 1 to `max`.
  [[nodiscard]] std::int64_t whole(int column, std::int64_t max) const {
    const std::int64_t value = rows_.integer(column);
    if (value >= 1 && value <= max) return value;
    throw ConfigError(rows_.position(),
                      fmt::format("{}: {} is not from 1 to {}; fix or remove this row",
                                  rows_.columns()[static_cast<std::size_t>(column)], value, max));
  }

  void expect_all_assignments(const MoeGridPoint& point) const {
    const std::int64_t wanted = point.tokens * point.topk;
    std::int64_t sum = 0;
    for (const std::int64_t count : point.histogram) sum += std::min(count, wanted + 1);
    if (sum == wanted) return;
    throw ConfigError(
        rows_.position(),
        fmt::format("histogram: does not add up to the {} assignments of {} tokens to "
                    "{} experts each; fix or remove this row",
                    wanted, point.tokens, point.topk));
  }

  std::size_t tile_index() {
    const auto at = [&](const char* name) {
      return static_cast<int>(whole(rows_.column(name), size_max));
    };
    const MoeTile tile{at("block_m"), at("block_n"), at("block_k"), at("group_m"),
                       at("split_k"), at("warps"),   at("stages")};
    const auto [found, is_new] = index_of_.try_emplace(tile, grid_.tiles.size());
    if (is_new) grid_.tiles.push_back(tile);
    return found->second;
  }

  CsvRows rows_;
  std::optional<DType> only_;
  bool is_grid_ = false;
  MoeGrid grid_;
  std::map<MoeTile, std::size_t> index_of_;
};

using TileTimes = std::map<MoeTile, double>;

/// Over the tiles that both have; 0 without one.
double median_log_ratio(const TileTimes& times, const TileTimes& to) {
  std::vector<double> logs;
  for (const auto& [tile, time] : times) {
    if (const auto other = to.find(tile); other != to.end()) {
      logs.push_back(std::log(time / other->second));
    }
  }
  if (logs.empty()) return 0;
  const auto middle = logs.begin() + std::ssize(logs) / 2;
  std::ranges::nth_element(logs, middle);
  return *middle;
}

/// Geometric means over passes, each first shifted to the widest one: what a whole pass is off by
/// says nothing of its configurations.
TileTimes averaged(const std::vector<TileTimes>& passes) {
  const TileTimes& widest = *std::ranges::max_element(passes, {}, &TileTimes::size);
  std::map<MoeTile, std::vector<double>> logs;
  for (const TileTimes& pass : passes) {
    const double shift = median_log_ratio(widest, pass);
    for (const auto& [tile, time] : pass) logs[tile].push_back(std::log(time) + shift);
  }
  TileTimes means;
  for (const auto& [tile, mine] : logs) {
    const double sum = std::accumulate(mine.begin(), mine.end(), 0.0);
    means.emplace(tile, std::exp(sum / static_cast<double>(mine.size())));
  }
  return means;
}

void expect_alike(const MoeGrid& grid, const MoeGrid& other) {
  if (grid.gpu == other.gpu && grid.dtype == other.dtype) return;
  throw ConfigError(
      {other.source},
      fmt::format("was measured on {} in {}, {} on {} in {}: fit them separately", other.gpu,
                  enum_name(other.dtype), grid.source, grid.gpu, enum_name(grid.dtype)));
}

}  // namespace

MoeGrid load_moe_grid(const std::filesystem::path& path, std::optional<DType> only) {
  MoeGrid grid = GridReader(path, only).read();
  grid.source = path.filename().string();
  return grid;
}

void append(MoeGrid& grid, const MoeGrid& other) {
  expect_alike(grid, other);
  std::vector<std::size_t> index;
  for (const MoeTile& tile : other.tiles) {
    auto found = std::ranges::find(grid.tiles, tile);
    if (found == grid.tiles.end()) found = grid.tiles.insert(found, tile);
    index.push_back(static_cast<std::size_t>(found - grid.tiles.begin()));
  }
  for (MoeGridPoint& point : grid.points) point.times_us.resize(grid.tiles.size(), unmeasured);
  for (MoeGridPoint point : other.points) {
    std::vector<double> times(grid.tiles.size(), unmeasured);
    for (std::size_t i = 0; i < index.size(); ++i) times[index[i]] = point.times_us[i];
    point.times_us = std::move(times);
    grid.points.push_back(std::move(point));
  }
  grid.source += ", " + other.source;
}

void refine(MoeGrid& grid, std::span<const MoeGrid> passes) {
  using Key = std::tuple<std::string, std::int64_t, double, std::vector<std::int64_t>>;
  const auto key_of = [](const MoeGridPoint& point) {
    return Key{point.architecture, point.tokens, point.balancedness, point.histogram};
  };
  std::map<Key, std::vector<TileTimes>> again;
  for (const MoeGrid& pass : passes) {
    expect_alike(grid, pass);
    for (const MoeGridPoint& point : pass.points) {
      TileTimes& times = again[key_of(point)].emplace_back();
      for (std::size_t i = 0; i < pass.tiles.size(); ++i) {
        if (!std::isnan(point.times_us[i])) times.emplace(pass.tiles[i], point.times_us[i]);
      }
    }
    grid.source += " refined by " + pass.source;
  }
  for (MoeGridPoint& point : grid.points) {
    const auto found = again.find(key_of(point));
    if (found == again.end()) continue;
    const TileTimes refined = averaged(found->second);
    TileTimes before;
    for (std::size_t i = 0; i < grid.tiles.size(); ++i) {
      if (!std::isnan(point.times_us[i])) before.emplace(grid.tiles[i], point.times_us[i]);
    }
    const double shift = std::exp(median_log_ratio(refined, before));
    for (std::size_t i = 0; i < grid.tiles.size(); ++i) {
      const auto time = refined.find(grid.tiles[i]);
      point.times_us[i] = time != refined.end() ? time->second : point.times_us[i] * shift;
    }
  }
}

std::vector<std::string> architectures_of(const MoeGrid& grid) {
  std::vector<std::string> names;
  for (const MoeGridPoint& point : grid.points) {
    if (std::ranges::find(names, point.architecture) == names.end()) {
      names.push_back(point.architecture);
    }
  }
  return names;
}

}  // namespace foretoken
