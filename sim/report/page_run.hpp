// What a page shows of a simulated run beside its tiles and distributions: time lines, where the
// time went, memory, roofline, requests, expected errors, scenario. Internal to sim/report.
#pragma once

#include "sim/report/page.hpp"
#include "sim/report/report.hpp"

namespace foretoken {

void add_run(ReportPage& page, const Report& report);

}  // namespace foretoken
