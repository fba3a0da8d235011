// The catalogue of figures: what there is to say of a run in one number each. Whoever shows runs
// side by side, judges them or keeps them asks it: a figure that is added here (or by a plug-in,
// with add_figure()) stands in the tables of `compare` and `sweep`, their CSV, JSON and pages, in
// the SQL view of a store, and can be a goal. A single run's own table and page say more than this,
// in an order of their own (report_table.cpp, report_page.cpp).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/report/report.hpp"

namespace foretoken {

/// What a figure is, and with that how it moves where every step takes longer by a factor, at the
/// same load in units of it: a time is multiplied, a rate divided, and a price of work done goes
/// with the time; shares and counts stay. Shares are from 0 to 1.
enum class FigureKind { time, rate, share, price, count };
enum class Better { lower, higher, neither };
/// Where a figure stands beside those of other runs. runs: everywhere. plans: in plans; elsewhere
/// it is asked for by name. one_run: it is asked for by name.
enum class FigureUse { runs, plans, one_run };
/// The runs that have it: all, those with an SLO, those whose tokens have a price.
enum class FigureOf { all, slo, priced };

struct Figure {
  std::string name;         // "ttft_p99_ms": in CSV, JSON and SQL, and as a goal
  std::string title, unit;  // "TTFT p99", "ms"; a share is shown in "%"
  FigureKind kind = FigureKind::count;
  Better better = Better::neither;
  FigureUse use = FigureUse::runs;
  /// Where report.json has it: "ttft_ms.p99"; "" = nowhere. With is_per_gpu, what is divided by
  /// the GPUs.
  std::string place;
  std::function<double(const Report&)> value;
  std::string header = {};  // over its column in the terminal; "" = it has none there
  std::string goal = {};    // "TTFT p99", where no goal is named; "" = it has to be
  FigureOf of = FigureOf::all;
  bool is_per_gpu = false;
  /// Where a report keeps it, for whoever makes one report of several; none: it follows from
  /// others.
  std::function<double*(Report&)> slot = {};

  /// nullopt: the run has none.
  [[nodiscard]] std::optional<double> in(const Report& report) const;
  /// As a goal: "lowest TTFT p99".
  [[nodiscard]] std::string goal_text() const;
  /// What becomes of a value where every step takes `factor` times as long.
  [[nodiscard]] double moved(double value, double factor) const;
  /// 100 for a share, which a reader wants in per cent.
  [[nodiscard]] double scale() const { return kind == FigureKind::share ? 100.0 : 1.0; }
};

/// In one order everywhere.
const std::vector<Figure>& figures();
/// To be called before anything asks for figures(): intervals stand in their order.
void add_figure(Figure figure);
/// Of the figure called `name`; an unknown one is an InternalError.
std::size_t figure_index(std::string_view name);
const Figure& figure_named(std::string_view name);

/// Whether every run of `reports` lacks it, so that nobody misses its column.
bool is_missing(const Figure& figure, const std::vector<const Report*>& reports);

/// What a report says of each figure, 0 where it has none.
std::vector<double> figure_values(const Report& report);
/// From the figure itself to the furthest of the others: runs with prices at their edges.
std::vector<FigureInterval> intervals_over(const std::vector<double>& values,
                                           const std::vector<std::vector<double>>& edges);

/// What the error of prices may make of a figure; nullopt: the report has no intervals, or the run
/// no such figure.
std::optional<FigureInterval> interval_of(const Report& report, const Figure& figure);
/// The same by its place in report.json: "ttft_ms", "p50". An unknown one is an InternalError.
std::optional<FigureInterval> interval_of(const Report& report, std::string_view table,
                                          std::string_view key);

/// An interval for the error of prices, widened for a comparison with a real server: `value` with
/// its interval and server_half_width(), independent of each other.
FigureInterval of_server(const FigureInterval& prices, double value, std::string_view table);

/// report.json's intervals, and back.
Value intervals_value(const Report& report);
Report::Intervals read_intervals(const Value& intervals, const Report& report);

/// Columns of a view on report.json's objects in the column `report` of an SQLite table: a figure
/// each, ", json_extract(report, '$.ttft_ms.p50') AS ttft_p50_ms" and so on.
std::string figure_columns_sql();

}  // namespace foretoken
