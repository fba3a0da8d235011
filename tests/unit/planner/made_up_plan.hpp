// Deployments whose answers anybody can work out: a unit of a candidate serves so many requests a
// second, a fleet holds if all its units serve the load, and latencies are a number over the units'
// share. No simulation.
#pragma once

#include <charconv>
#include <map>
#include <string>
#include <vector>

#include "sim/planner/plan/plan_runs.hpp"

namespace foretoken {

/// A run that met its SLO so far, with one latency for all percentiles.
inline Report made_up_report(double attainment, double latency_ms) {
  const auto latency = [](double ms) { return LatencyRow{ms, ms, ms, ms, ms, ms}; };
  Report report;
  report.gpus = 10;
  report.requests.arrived = 100;
  report.throughput = {.requests_per_s = 10, .output_tokens_per_s = 1000};
  report.ttft_ms = latency(latency_ms / 10);
  report.tpot_ms = latency(latency_ms / 100);
  report.e2e_ms = latency(latency_ms);
  report.slo.targets = {"e2e <= 1 s"};
  report.slo.attainment = attainment;
  report.slo.goodput_per_s = 10 * attainment;
  report.step_error.families = {{"host", 0.25, 0.2}, {"gemm", 0.75, 0.059}};
  return report;
}

/// What a candidate really does.
struct MadeUp {
  double unit_rate = 1;      // requests a second that a unit holds
  double latency_ms = 1000;  // end to end, at any load that holds
  bool fits = true;
  bool breaks = false;  // its runs do not end
  /// Of each replication where the load is held; empty: all requests meet the SLO.
  std::vector<double> attainments = {};
};

/// Finishes runs in reverse order. A probe travels as text, since that is all a runner is given.
class MadeUpPlanRunner final : public ScenarioRunner {
 public:
  MadeUpPlanRunner(std::vector<MadeUp> truth, double load)
      : truth_(std::move(truth)), load_(load) {}

  static std::vector<RunRequest> requests(const PlanProbe& probe) {
    const Changes changes = {{"candidate", static_cast<std::int64_t>(probe.candidate)},
                             {"kind", static_cast<int>(probe.kind)},
                             {"units", probe.units},
                             {"replication", probe.replication},
                             {"load", probe.load},
                             {"slowdown", probe.slowdown}};
    return {{changes}};
  }

  [[nodiscard]] std::size_t slots() const override { return 3; }
  void start(std::size_t ticket, const RunRequest& request) override {
    ++started;
    running_.push_back({ticket, outcome_of(request)});
  }
  std::optional<Finished> wait() override {
    if (stop_after > 0 && started >= stop_after) return std::nullopt;
    Finished finished = running_.back();
    running_.pop_back();
    return finished;
  }

  int started = 0;
  int stop_after = 0;  // 0: never

 private:
  RunOutcome outcome_of(const RunRequest& request) const {
    std::vector<std::string> words;
    for (const Change& change : request.changes) words.push_back(change.value_text());
    const MadeUp& truth = truth_[std::stoul(words[0])];
    if (truth.breaks) return {RunStatus::failed, "ended by signal 9", {}};
    if (!truth.fits) return {RunStatus::infeasible, "it does not fit", {}};
    // A unit under 1/n of the load is as well off as n units under all of it.
    const double demand = load_ * std::stod(words[4]) * std::stod(words[5]);
    const bool holds = truth.unit_rate * std::stoi(words[2]) >= demand;
    const auto replication = std::stoul(words[3]);
    const double held =
        replication < truth.attainments.size() ? truth.attainments[replication] : 1.0;
    return {RunStatus::ran, "", made_up_report(holds ? held : 0.5, truth.latency_ms)};
  }

  std::vector<MadeUp> truth_;
  double load_;
  std::vector<Finished> running_;
};

}  // namespace foretoken
