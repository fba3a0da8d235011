// What the terminal's table and the page of a plan say in the same words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/planner/plan/plan.hpp"
#include "sim/planner/side_by_side.hpp"

namespace foretoken {

/// "h100-sxm, TP 4, PP 2".
std::string choice_of(const Plan& plan, std::size_t candidate);
/// "h100-sxm, TP 4, PP 2, 3 replicas": as many as hold.
std::string with_units(const Plan& plan, std::size_t candidate);
std::string with_units(const Plan& plan, std::size_t candidate, int units);
/// "4 x h100-sxm + 4 x h200-sxm": of the units that hold.
std::string gpus_text(const Plan& plan, std::size_t candidate);
/// "ttft ≤ 2 s · tpot ≤ 100 ms for 99.0 % of the requests".
std::string slo_text(const SloTargets& slo);
double prompt_tokens_mean(const TrafficSample& traffic);
/// "10.4 requests/s, 5.0 % more ([plan] margin)": what deployments have to hold.
std::string sized_load_text(const TrafficSample& traffic, const PlanSettings& settings);
/// What was asked and what is taken for granted, in lines of at most `width` columns: load, SLO,
/// which choices are tried, the model and who predicts, what decides, prices and what they leave
/// out. `has_margin` false: nothing has to hold more than the load, and nodes are no question.
std::string question_text(const PlanSpace& space, const PlanSettings& settings, int width,
                          bool has_margin = true);
/// USD an hour: "9.98 (9.98–19.96)", or the figure alone where it is sure or nobody looked closely.
std::string cost_text(const Plan& plan, std::size_t candidate);
/// How far off the cheapest's steps may be, what that comes from, and what it would change.
std::string error_text(const Plan& plan, const DeploymentConfidence& cheapest);
inline constexpr double hours_a_month = 730;  // 8,760 a year

/// "$9.98 an hour, $7,285 a month".
std::string dollars_text(double dollars_per_hour);
/// Why another choice may be the cheapest after all: "l40s, TP 4, 2 replicas ($19.96 an hour)
/// cannot be ruled out as cheapest: if steps are 13 % slower, the $9.98 choice needs 2 replicas".
std::string doubt_text(const Plan& plan, std::size_t other);
/// USD a month of 730 hours: "7,285".
std::string month_text(double dollars_per_hour);
/// What the candidate takes in whole nodes: "1 whole node: $39.92 an hour, …".
std::string nodes_text(const Plan& plan, std::size_t candidate);
/// What still holds with one replica down, and which choice does that for the least.
std::string spare_text(const Plan& plan);
/// "2 seeds meet the SLO by 99.4 % and 99.8 % …", and whether that was on samples.
std::string seeds_text(const Plan& plan, std::size_t candidate);
/// The words of the command that runs what was judged of a candidate, for command_lines().
std::vector<std::string> command_words(const Plan& plan, std::size_t candidate,
                                       const std::string& scenario);
/// Of any run, with the keys that were set for all runs.
std::vector<std::string> command_words(const std::vector<std::string>& overrides,
                                       const Changes& run, const std::string& scenario);

/// What the candidates of a fate are called together: "not worth a look".
std::string_view fate_title(CandidateFate fate);
/// Why a candidate does not hold, or was not run; "" if it holds.
std::string reason_of(const Plan& plan, std::size_t candidate);
/// Reasons of one fate, each with all that it holds for.
std::vector<ReasonGroup<std::string>> reasons_of(const Plan& plan, CandidateFate fate);

}  // namespace foretoken
