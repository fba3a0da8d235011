// A plan's choices before anything is run, as a table for the terminal.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/planner/choice_text.hpp"
#include "sim/planner/plan/plan_space.hpp"
#include "sim/report/number_text.hpp"
#include "sim/report/text_table.hpp"

namespace foretoken {
namespace {

std::string why_not(const PlanCandidate& candidate) {
  return candidate.impossible.empty() ? candidate.bounds.too_large : candidate.impossible;
}

}  // namespace

std::string plan_space_table(const PlanSpace& space, bool colour, int width) {
  const Ink ink(colour);
  std::vector<TextColumn> headers;
  for (const LayoutChoice& axis : space.axes) headers.push_back({axis.label, Align::right});
  for (const char* header : {"GPUs of one", "at least", "$/h", "SLO met at best"})
    headers.push_back({header, Align::right});
  TextTable table(std::move(headers));
  std::string impossible;
  std::size_t possible = 0;
  for (const PlanCandidate& candidate : space.candidates) {
    if (const std::string reason = why_not(candidate); !reason.empty()) {
      impossible += wrapped(
          fmt::format("{}: {}", choice_text(space.axes, candidate.values), reason), width, 4, 6);
      continue;
    }
    ++possible;
    const int units =
        std::max(1, static_cast<int>(std::min(std::ceil(candidate.bounds.units), 1e9)));
    std::vector<std::string> cells = candidate.values;
    cells.push_back(fmt::format("{}", candidate.unit_gpus));
    cells.push_back(fmt::format("{} of {}", units, candidate.units_max));
    cells.push_back(fmt::format("{:.2f}", candidate.dollars_per_hour(units)));
    cells.push_back(attained(candidate.bounds.attainment) + " %");
    table.add_row(std::move(cells));
  }
  std::string text = table.text({.width = width, .colour = colour});
  text +=
      ink.quiet(wrapped("at least: replicas that the load needs by step times alone, of those "
                        "allowed · $/h of that many",
                        width, 2, 2));
  if (!impossible.empty()) text += fmt::format("\n  {}\n", ink.strong("not possible")) + impossible;
  return text + fmt::format("\n  {} of {}\n",
                            counted(static_cast<std::int64_t>(possible), "choice"),
                            space.candidates.size());
}

}  // namespace foretoken
