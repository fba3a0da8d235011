#include "sim/report/group_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/report/number_text.hpp"
#include "sim/report/terminal_text.hpp"

namespace foretoken {

namespace {

std::string table_text(const std::vector<RequestGroup>& groups, const std::string& noun,
                       const Report& report, int label_columns, const TextTable::Layout& layout) {
  if (groups.empty()) return {};
  // More than fits into 80 columns: where there are targets they say more than a median does, where
  // some were rejected how many.
  const bool has_targets = !report.slo.targets.empty();
  const bool has_rejected =
      std::ranges::any_of(groups, [](const RequestGroup& one) { return one.rejected > 0; });
  TextTable table({{noun + "  ms", Align::left, label_columns},
                   {"completed", Align::right, 0},
                   {has_rejected ? "rejected" : "TTFT p50", Align::right, 0},
                   {"TTFT p99", Align::right, 0},
                   {"TPOT p50", Align::right, 0},
                   {has_targets ? "E2E p99" : "E2E p50", Align::right, 0},
                   {has_targets ? "SLO met" : "E2E p99", Align::right, 0}});
  for (const RequestGroup& figures : groups) {
    const std::string last =
        has_targets ? attained(figures.attainment) + " %" : brief(figures.e2e_ms.p99);
    table.add_row({figures.name.empty() ? std::to_string(figures.priority)
                                        : fitted(figures.name, label_columns),
                   fmt::format("{} of {}", grouped(figures.completed), grouped(figures.arrived)),
                   has_rejected ? grouped(figures.rejected) : brief(figures.ttft_ms.p50),
                   brief(figures.ttft_ms.p99), brief(figures.tpot_ms.p50),
                   brief(has_targets ? figures.e2e_ms.p99 : figures.e2e_ms.p50), last});
  }
  return table.text(layout);
}

}  // namespace

std::string group_name(const RequestGroup& group) {
  return group.name.empty() ? fmt::format("priority {}", group.priority) : group.name;
}

std::string group_text(const Report& report, int label_columns, const TextTable::Layout& layout) {
  std::string text;
  for (const auto& [noun, groups] : {std::pair("model", &report.models),
                                     {"priority", &report.by_priority},
                                     {"tenant", &report.tenants}}) {
    const std::string table = table_text(*groups, noun, report, label_columns, layout);
    if (!text.empty() && !table.empty()) text += '\n';
    text += table;
  }
  if (!report.fairness) return text;
  const std::string label =
      padded(Ink(layout.colour).quiet("fairness"), label_columns, Align::left);
  const auto spaces = [](int count) { return std::string(static_cast<std::size_t>(count), ' '); };
  return text + spaces(layout.indent) + label + spaces(layout.gap) +
         fmt::format("{:.3f} of 1 (Jain's index over tenants)\n", *report.fairness);
}

}  // namespace foretoken
