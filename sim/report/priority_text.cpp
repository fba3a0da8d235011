#include "sim/report/priority_text.hpp"

#include <fmt/format.h>

#include "sim/report/number_text.hpp"

namespace foretoken {

std::string priority_text(const Report& report, int label_columns,
                          const TextTable::Layout& layout) {
  if (report.by_priority.empty()) return {};
  // One more column than fits into 80: where there are targets they say more than a median does.
  const bool has_targets = !report.slo.targets.empty();
  TextTable table({{"priority  ms", Align::left, label_columns},
                   {"completed", Align::right, 0},
                   {"TTFT p50", Align::right, 0},
                   {"TTFT p99", Align::right, 0},
                   {"TPOT p50", Align::right, 0},
                   {has_targets ? "E2E p99" : "E2E p50", Align::right, 0},
                   {has_targets ? "SLO met" : "E2E p99", Align::right, 0}});
  for (const PriorityClass& figures : report.by_priority) {
    const std::string last =
        has_targets ? fmt::format("{:.1f} %", 100 * figures.attainment) : brief(figures.e2e_ms.p99);
    table.add_row({std::to_string(figures.priority),
                   fmt::format("{} of {}", grouped(figures.completed), grouped(figures.arrived)),
                   brief(figures.ttft_ms.p50), brief(figures.ttft_ms.p99),
                   brief(figures.tpot_ms.p50),
                   brief(has_targets ? figures.e2e_ms.p99 : figures.e2e_ms.p50), last});
  }
  return table.text(layout);
}

}  // namespace foretoken
