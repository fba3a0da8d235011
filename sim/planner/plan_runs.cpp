#include "sim/planner/plan_runs.hpp"

#include <fmt/format.h>

#include <set>
#include <stdexcept>

namespace foretoken {
namespace {

std::string name_of(const RunRequest& request) {
  std::string name;
  for (const std::string& assignment : request.overrides) name += assignment + '\n';
  return name;
}

}  // namespace

std::vector<const RunOutcome*> PlanRuns::run(const std::vector<PlanProbe>& probes) {
  std::vector<std::string> names;
  std::vector<std::pair<std::string, RunRequest>> missing;
  std::set<std::string> asked;
  for (const PlanProbe& probe : probes) {
    RunRequest request = make_request_(probe);
    names.push_back(name_of(request));
    if (outcomes_.contains(names.back()) || !asked.insert(names.back()).second) continue;
    if (store_ != nullptr) {
      if (auto known = store_->find(request)) {
        outcomes_[names.back()] = std::move(*known);
        if (progress_) progress_(made());
        continue;
      }
    }
    missing.emplace_back(names.back(), std::move(request));
  }
  std::size_t next = 0, running = 0;
  const auto start_some = [&] {
    for (; next < missing.size() && running < runner_->slots(); ++next, ++running) {
      runner_->start(next, missing[next].second);
    }
  };
  for (start_some(); running > 0; start_some()) {
    auto over = runner_->wait();
    if (!over) throw PlanStopped();
    --running;
    auto& [name, request] = missing[over->ticket];
    if (over->outcome.status == RunStatus::failed) {
      // Neither holds nor cannot be: with its choice left out, the answer might be another.
      throw std::runtime_error(fmt::format("a run of the plan broke off, so that its answer is not "
                                           "known: {}\nThe run: {}",
                                           over->outcome.message,
                                           fmt::join(request.overrides, " ")));
    }
    if (store_ != nullptr) store_->keep(request, over->outcome);
    outcomes_[name] = std::move(over->outcome);
    if (progress_) progress_(made());
  }
  std::vector<const RunOutcome*> outcomes;
  for (const std::string& name : names) outcomes.push_back(&outcomes_.at(name));
  return outcomes;
}

}  // namespace foretoken
