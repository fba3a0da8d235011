// What "best" can mean when runs are set side by side: a figure that is to be as high or as low as
// can be, among runs that served what they were sent.
#pragma once

#include <string>
#include <vector>

#include "sim/report/figures.hpp"

namespace foretoken {

/// The figures called so; of none, the usual ones: tails of latency, throughput, goodput, cost.
/// Throws ConfigError at --goal for a name that no figure has.
std::vector<const Figure*> goals(const std::vector<std::string>& names = {});

/// Less is better, whichever way the figure goes; nullopt: the run does not say.
std::optional<double> badness(const Figure& goal, const Report& report);

/// Whether a run may be the best: it served every request that it was sent.
bool is_served(const Report& report);

/// Whether nobody can say which of two runs is better by a goal that both speak to: the intervals
/// of its figure overlap, or, where there are none, three digits do not tell them apart.
bool are_tied(const Figure& goal, const Report& one, const Report& other);

/// What became of requests that were not served, a sentence each: "3 of 10 requests failed, so it
/// cannot be best".
std::vector<std::string> losses(const Report& report);

/// "gemm 71 %": what most of the GPU's time goes to, or what else limits a run.
std::string bound_of(const Report& report);

}  // namespace foretoken
