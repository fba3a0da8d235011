// Rates of the steady state: what a run came to a second while requests kept coming, without the
// drain behind the last of them, in which ever fewer share the GPUs. sim/report/README.md
// ("Throughput") says how the window is chosen and why. Internal to sim/run.
#pragma once

#include <vector>

#include "sim/metrics/timeline.hpp"
#include "sim/report/report.hpp"
#include "sim/scenario/scenario.hpp"

namespace foretoken {

/// Whether users wait for an answer before they ask again.
bool is_closed_loop(const Scenario& scenario);

/// Output tokens that its client got after `from`, up to `to`: the first when it came, the others
/// evenly from there.
double output_tokens_between(const RequestRecord& record, Seconds from, Seconds to);

/// Output tokens of a request that report.throughput counts; `is_counted` as Timeline says.
double steady_output_tokens(const RequestRecord& record, bool is_counted,
                            const Report::Steady& steady);

/// Fills throughput, whole_run, steady, drain and the goodput of a report that has its counts and
/// duration. `requests` are those of `timeline`, or the same with other dates.
void add_throughput(bool is_closed, const Timeline& timeline,
                    const std::vector<RequestRecord>& requests, const SloTargets& limits,
                    Report& report);

}  // namespace foretoken
