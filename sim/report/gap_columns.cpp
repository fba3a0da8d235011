#include "sim/report/gap_columns.hpp"

#include <fmt/format.h>

#include "sim/report/number_text.hpp"

namespace foretoken {
namespace {

std::string thousandths(double number) { return fmt::format("{:.3f}", number); }
std::string hundredths(double number) { return fmt::format("{:.2f}", number); }

/// Of "folder/file:line" what tells rows of one dataset apart.
std::string file_name(const std::string& place) {
  const std::size_t slash = place.rfind('/');
  return slash == std::string::npos ? place : place.substr(slash + 1);
}

}  // namespace

ResultTable gap_group_columns(const GapReport& report, const Ink& ink) {
  using enum ResultKind;
  using Group = const GapGroup&;
  const std::vector<GapGroup> rows = gap_groups(report);
  ResultTable table;
  const ColumnsOf add(table, rows);
  add({"gpu", "", "", "GPU"}, [&](Group group) {
    return ResultCell{.text = group.gpu,
                      .shown = group.family.empty() ? ink.strong(group.gpu) : " "};
  });
  add({"family", "", "", "family"}, [&](Group group) {
    return ResultCell{.text = group.family, .shown = group.family.empty() ? ink.strong("all") : ""};
  });
  add({"source", "", "", "source"}, &GapGroup::source);
  add({"points", "", "", "points", count}, &GapGroup::points);
  add({"underperforming", "", "", "below", count}, &GapGroup::underperforming);
  add({"share", "", "", "share", share}, &GapGroup::share);
  add({"median_gap", "", "", "median gap", number, {}, thousandths}, &GapGroup::median);
  add({"p80_gap", "", "", "p80", number, {}, thousandths}, &GapGroup::p80);
  add({"p90_gap", "", "", "p90", number, {}, thousandths}, &GapGroup::p90);
  return table;
}

ResultTable gap_point_columns(const GapReport& report, const std::vector<GapPoint>& points) {
  using enum ResultKind;
  using Point = const GapPoint&;
  ResultTable table;
  const ColumnsOf add(table, points);
  const auto of_tasks = [&](ResultColumn column, double GapPoint::*figure) {
    add(std::move(column), [figure](Point point) {
      return point.pipe.empty() ? std::nullopt : std::optional(point.*figure);
    });
  };
  add({"", "", "", "gap", number, {}, thousandths}, &GapPoint::gap);
  add({"", "", "", "us", number}, &GapPoint::measured_us);
  add({"", "", "", "could be", number}, &GapPoint::ceiling_us);
  add({"gpu", "", "", "GPU"}, &GapPoint::gpu);
  add({"family"}, &GapPoint::family);
  add({"source"}, &GapPoint::source);
  add({"shape"}, &GapPoint::shape);
  add({"row"}, &GapPoint::place);
  add({"measured_us", "", "", "", number}, &GapPoint::measured_us);
  add({"ceiling_us", "", "", "", number}, &GapPoint::ceiling_us);
  add({"efficiency", "", "", "", number}, &GapPoint::efficiency);
  add({"ceiling", "", "", "", number}, &GapPoint::ceiling);
  add({"gap", "", "", "", number}, &GapPoint::gap);
  add({"underperforming", "", "", "", count},
      [&](Point point) { return point.gap() > report.threshold; });
  add({"bound_by", "", "", "bound"}, &GapPoint::bound_by);
  add({"sm_pipe", "", "", "SM pipe"}, &GapPoint::pipe);
  of_tasks({"waves", "", "", "waves", number, {}, hundredths}, &GapPoint::waves);
  of_tasks({"imbalance", "", "", "tail", number, {}, hundredths}, &GapPoint::imbalance);
  add({"", "", "", "row"}, [](Point point) { return file_name(point.place); });
  add({"transferred", "", "", "", count}, &GapPoint::is_transferred);
  return table;
}

}  // namespace foretoken
