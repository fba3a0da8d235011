#include "sim/planner/side_by_side.hpp"

namespace foretoken {
namespace {

bool is_best(const BestRun& best, std::size_t place, bool with_ties) {
  return with_ties ? best.has(place) : best.place == place;
}

}  // namespace

std::vector<const Figure*> asked_figures(const std::vector<BestRun>& best) {
  std::vector<const Figure*> asked;
  for (const BestRun& one : best) {
    if (one.figure->goal.empty()) asked.push_back(one.figure);
  }
  return asked;
}

std::string goals_of(const std::vector<BestRun>& best, std::size_t place, const char* separator,
                     bool with_ties) {
  std::string text;
  for (const BestRun& one : best) {
    if (is_best(one, place, with_ties)) text += (text.empty() ? "" : separator) + one.goal();
  }
  return text;
}

std::string stars_of(const std::vector<BestRun>& best, std::size_t place, bool with_ties,
                     const Ink& ink) {
  const auto count = std::ranges::count_if(
      best, [&](const BestRun& one) { return is_best(one, place, with_ties); });
  return count > 0 ? ink.good(repeated("★", static_cast<int>(count))) : "";
}

ValueArray best_value(const std::vector<BestRun>& best, const char* place, const char* ties) {
  ValueArray values;
  for (const BestRun& one : best) {
    ValueArray others;
    for (const std::size_t other : one.ties) others.emplace_back(static_cast<std::int64_t>(other));
    values.emplace_back(ValueObject{{"goal", one.goal()},
                                    {place, static_cast<std::int64_t>(one.place)},
                                    {ties, std::move(others)}});
  }
  return values;
}

std::string units_note(const ResultTable& table) {
  const auto column = [&](std::string_view name) {
    return std::ranges::find(table.columns, name, &ResultColumn::name);
  };
  const auto cost = column("dollars_per_million_output_tokens");
  const bool has_cost = cost != table.columns.end() && !cost->header.empty();
  const bool has_slo = column("attainment") != table.columns.end();
  return fmt::format("  latencies in ms · output tokens{} per second{}\n",
                     has_slo ? " and requests within the SLO" : "",
                     has_cost ? " · $ per million output tokens" : "");
}

std::string prices_note(const ResultTable::Fitted& table, const char* mark, const char* more,
                        const std::string& ranges) {
  const std::string likely =
      fmt::format("{:.0f} % interval (kernel-price error)", 100 * interval_confidence);
  return table.has_prices ? fmt::format("  {} half the {}{}\n", mark, likely, more)
                          : fmt::format("  {}: {}\n", likely, ranges);
}

}  // namespace foretoken
