// The latency section of the report's table: TTFT, TPOT, ITL and end to end against mean,
// percentiles and maximum. Each row has one unit, so that its numbers compare at a glance.
#pragma once

#include <string>
#include <vector>

#include "sim/report/report.hpp"
#include "sim/report/text_table.hpp"

namespace foretoken {

/// Lines within `layout`; the first column is at least `label_columns` wide. Where not all figures
/// fit, p95 goes first, then p90, then the maximum.
std::string latency_text(const Report& report, int label_columns, const TextTable::Layout& layout);

/// What prices may make of p50 and p99, "TTFT p50 24.0–29.5, p99 95.9–117.3 ms", a text a latency
/// that was measured; none without intervals.
std::vector<std::string> latency_intervals(const Report& report);

}  // namespace foretoken
