// A table of results as CSV and JSON: the columns that have names, with figures to nine digits.
#include <fmt/format.h>

#include <cmath>

#include "sim/base/csv_cell.hpp"
#include "sim/report/result_table.hpp"
#include "sim/report/rounding.hpp"

namespace foretoken {
namespace {

std::string csv_number(double number, ResultKind kind) {
  if (kind == ResultKind::flag) return number != 0 ? "yes" : "no";
  return std::isfinite(number) ? fmt::format("{}", rounded(number)) : "";
}

/// What files have.
std::optional<FigureInterval> ends_of(const ResultCell& cell) {
  return cell.prices ? cell.prices : cell.both;
}

Value plain_value(double number, ResultKind kind) {
  if (kind == ResultKind::flag) return number != 0;
  if (kind == ResultKind::count) return static_cast<std::int64_t>(number);
  return rounded(number);
}

/// A figure with its interval.
Value bounded_value(const ResultCell& cell) {
  Value value;
  value.set("value", rounded(*cell.number));
  const auto ends = ends_of(cell);
  if (ends && std::isfinite(ends->low)) value.set("low", rounded(ends->low));
  if (ends && std::isfinite(ends->high)) value.set("high", rounded(ends->high));
  return value;
}

/// Sets a member of `row`, or of the object `group` in it.
void set_in(Value& row, const std::string& group, const std::string& name, Value value) {
  if (group.empty()) return row.set(name, std::move(value));
  const Value* known = row.find(group);
  Value object = known != nullptr ? *known : Value();
  object.set(name, std::move(value));
  row.set(group, std::move(object));
}

Value json_row(const ResultTable& table, std::size_t row,
               const std::function<Value(const ResultCell&)>& number) {
  Value value;
  Value intervals;
  const bool beside = table.bounds == ResultBounds::beside;
  for (const ResultColumn& column : table.columns) {
    const ResultCell& cell = column.cells[row];
    if (column.name.empty()) continue;
    if (column.is_text()) {
      if (column.kind == ResultKind::key || !cell.text.empty())
        set_in(value, column.group, column.name, cell.text);
      continue;
    }
    if (!cell.number) continue;
    set_in(value, column.group, column.name,
           number                        ? number(cell)
           : beside && column.is_bounded ? bounded_value(cell)
                                         : plain_value(*cell.number, column.kind));
    if (!number && !beside && column.is_bounded && cell.prices)
      intervals.set(column.name, ValueArray{rounded(cell.prices->low), rounded(cell.prices->high)});
  }
  if (!std::get<ValueObject>(intervals.data).empty()) value.set("intervals", std::move(intervals));
  return value;
}

}  // namespace

std::string ResultTable::csv() const {
  const bool beside = bounds == ResultBounds::beside, apart = !beside && has_prices();
  std::string text;
  const auto line = [&](const auto& cell_of, const auto& bounds_of) {
    std::vector<std::string> cells;
    for (const ResultColumn& column : columns) {
      if (column.name.empty()) continue;
      cells.push_back(cell_of(column));
      if (beside && column.is_bounded) cells.push_back(bounds_of(column));
    }
    for (const ResultColumn& column : columns) {
      if (apart && column.is_bounded && !column.name.empty()) cells.push_back(bounds_of(column));
    }
    text += fmt::format("{}\n", fmt::join(cells, ","));
  };
  line([](const ResultColumn& column) { return csv_cell(column.name); },
       [](const ResultColumn& column) { return fmt::format("{0}_low,{0}_high", column.name); });
  for (std::size_t row = 0; row < rows(); ++row) {
    line(
        [&](const ResultColumn& column) {
          const ResultCell& cell = column.cells[row];
          if (column.is_text()) return csv_cell(cell.text);
          return cell.number ? csv_number(*cell.number, column.kind) : std::string();
        },
        [&](const ResultColumn& column) {
          const auto ends = ends_of(column.cells[row]);
          return ends ? csv_number(ends->low, column.kind) + ',' +
                            csv_number(ends->high, column.kind)
                      : std::string(",");
        });
  }
  return text;
}

ValueArray ResultTable::json(const std::function<Value(const ResultCell&)>& number) const {
  ValueArray values;
  for (std::size_t row = 0; row < rows(); ++row) values.push_back(json_row(*this, row, number));
  return values;
}

}  // namespace foretoken
