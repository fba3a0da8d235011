#include "workloads/measurements/closed_loop_points.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "workloads/measurements/closed_loop_rows.hpp"

namespace foretoken {
namespace {

/// What copies of one run share. Models may go by other names and layouts may be told otherwise;
/// times are told in full or to 0.01 ms.
auto run_of(const ClosedLoopPoint& point) {
  const auto rounded = [](double ms) { return std::round(ms * 100); };
  return std::tuple(point.engine, point.system, point.prompt_tokens, point.output_tokens,
                    point.users, rounded(point.ttft_ms), rounded(point.tpot_ms));
}

/// One run under several names stands once: the row that tells the engine's version, else the
/// first.
void drop_repeated(ClosedLoopPoints& loaded) {
  std::map<decltype(run_of({})), std::size_t> kept;  // index
  std::vector<ClosedLoopPoint> points;
  for (ClosedLoopPoint& point : loaded.points) {
    const auto [entry, is_new] = kept.try_emplace(run_of(point), points.size());
    if (is_new) {
      points.push_back(std::move(point));
      continue;
    }
    ClosedLoopPoint& first = points[entry->second];
    if (first.version.empty() && !point.version.empty()) std::swap(first, point);
    loaded.left_out.push_back({point.id, point.position, "the same run appears twice"});
  }
  loaded.points = std::move(points);
}

std::unique_ptr<ClosedLoopReader> reader_of(const CsvRows& rows) {
  if (auto reader = silicon_reader(rows)) return reader;
  if (auto reader = inferencex_reader(rows)) return reader;
  throw ConfigError(rows.position(),
                    "is not a table of closed-loop points: the columns silicon_ttft_ms and "
                    "silicon_tpot_ms, or mean_ttft and mean_tpot (or medians) are missing");
}

/// So many GPUs nobody measured; products of such layouts would not fit a number.
void check_layout(const MeasuredLayout& layout) {
  constexpr double gpus_max = 1e6;
  const double gpus =
      1.0 * layout.tensor * layout.pipeline * layout.attention_ranks * layout.workers;
  if (gpus > gpus_max || layout.experts > gpus_max)
    throw NoPoint{"its layout takes more than 1,000,000 GPUs"};
}

void read_table(const std::filesystem::path& csv, ClosedLoopPoints& loaded) {
  CsvRows rows(csv);
  const std::unique_ptr<ClosedLoopReader> reader = reader_of(rows);
  while (rows.next()) {
    try {
      ClosedLoopPoint point = reader->read();
      check_layout(point.layout);
      if (point.prefill) check_layout(*point.prefill);
      loaded.points.push_back(std::move(point));
    } catch (const NoPoint& row) {
      loaded.left_out.push_back({reader->id(), rows.position(), row.reason});
    }
  }
}

}  // namespace

int positive_cell(const CsvRows& rows, int column) {
  const std::int64_t value = rows.integer(column);
  if (value < 1 || value > 1'000'000) {
    throw NoPoint{fmt::format("{} must be from 1 to 1,000,000",
                              rows.columns()[static_cast<std::size_t>(column)])};
  }
  return static_cast<int>(value);
}

double latency_cell(const CsvRows& rows, int column, double factor) {
  const double value = rows.number(column);
  constexpr double longest_ms = 1e10;
  if (!(value > 0.0)) throw NoPoint{"a latency is not above 0 ms"};
  if (value * factor > longest_ms) throw NoPoint{"a latency is above 1e10 ms"};
  return value * factor;
}

ClosedLoopPoints load_closed_loop_points(const std::vector<std::filesystem::path>& files) {
  ClosedLoopPoints loaded;
  for (const std::filesystem::path& csv : files) read_table(csv, loaded);
  drop_repeated(loaded);
  std::ranges::stable_sort(loaded.left_out, {}, [](const RowLeftOut& row) {
    return std::pair(row.position.file, row.position.line);
  });
  return loaded;
}

}  // namespace foretoken
