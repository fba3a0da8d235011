#include "sim/planner/wanted_runs.hpp"

#include <map>

#include "sim/planner/job_pool.hpp"

namespace foretoken {
namespace {

// Leases are renewed so often that two renewals may fail to come before others take over.
constexpr double renewals_a_lease = 4;

// What others finish is looked for so often.
constexpr double poll_s = 0.25;

}  // namespace

bool run_wanted(const std::vector<RunRequest>& requests, ScenarioRunner& runner, RunStore& store,
                const RunHost& host) {
  std::map<std::size_t, double> began;  // of what runs
  const auto& now = store.owner().now;
  const double period_s = store.owner().lease_s / renewals_a_lease;
  double renewed = now();
  const auto renew_if_due = [&] {
    if (now() - renewed < period_s / 2) return;
    store.renew();
    renewed = now();
  };
  const auto next = [&]() -> std::optional<std::pair<std::size_t, RunRequest>> {
    const std::vector<std::size_t> taken = store.take(1);
    if (taken.empty()) return std::nullopt;
    began[taken.front()] = now();
    return std::pair(taken.front(), requests[taken.front()]);
  };
  const auto counted = [&] {
    renew_if_due();
    const RunStore::Counts counts = store.counts();
    if (host.progress) host.progress(counts);
    return counts;
  };
  const auto done = [&](const ScenarioRunner::Finished& over) {
    store.finish(over.ticket, over.outcome, now() - began.at(over.ticket));
    began.erase(over.ticket);
    counted();
  };
  runner.while_waiting(period_s, renew_if_due);
  counted();
  bool goes_on = run_jobs(runner, next, done);
  for (auto counts = counted(); goes_on && counts.finished < counts.wanted; counts = counted()) {
    // Others are at what is left; they finish it or their leases end.
    goes_on = host.pause && host.pause(poll_s) && run_jobs(runner, next, done);
  }
  runner.while_waiting(0, {});
  if (!goes_on) store.release();
  return goes_on;
}

}  // namespace foretoken
