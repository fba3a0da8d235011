// The parts of a page that come from requests: distributions of latencies and the table of all.
// Internal to sim/report.
#pragma once

#include "sim/report/page.hpp"
#include "sim/report/report.hpp"

namespace foretoken {

/// Distribution functions of TTFT, TPOT and end-to-end latency, with their targets.
void add_latency_charts(ReportPage& page, const Report& report);
/// A row a request; of very many, evenly spread ones, and a note says so.
void add_request_table(ReportPage& page, const Report& report);

}  // namespace foretoken
