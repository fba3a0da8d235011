// A recorded run and the report of its simulation, laid side by side.
#pragma once

#include "sim/report/validation_report.hpp"
#include "workloads/measurements/served_run.hpp"

namespace foretoken {

/// `simulated` must have served the same requests in the same order of arrival.
ValidationReport compare_with_recorded(const ServedRun& measured, const Report& simulated);

}  // namespace foretoken
