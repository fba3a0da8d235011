#include "sim/planner/compare/compare.hpp"

#include <algorithm>

namespace foretoken {
namespace {

/// Rows that may be the best.
std::vector<std::size_t> eligible(const std::vector<ComparedLayout>& rows) {
  std::vector<std::size_t> served, met;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const Report* report = rows[row].report();
    if (report == nullptr || !is_served(*report)) continue;
    served.push_back(row);
    if (!report->slo.targets.empty() && report->slo.met) met.push_back(row);
  }
  return met.empty() ? served : met;
}

}  // namespace

std::vector<const Report*> Comparison::reports() const {
  std::vector<const Report*> reports;
  for (const ComparedLayout& row : rows) reports.push_back(row.report());
  return reports;
}

std::vector<BestRun> best_layouts(const std::vector<ComparedLayout>& rows,
                                  const std::vector<const Figure*>& goals) {
  std::vector<BestRun> best;
  const std::vector<std::size_t> candidates = eligible(rows);
  for (const Figure* goal : goals) {
    const auto badness_of = [&](std::size_t row) { return badness(*goal, *rows[row].report()); };
    std::vector<std::size_t> known;
    for (const std::size_t row : candidates) {
      if (badness_of(row)) known.push_back(row);
    }
    if (known.empty()) continue;
    const std::size_t winner = *std::ranges::min_element(known, {}, badness_of);
    BestRun& one = best.emplace_back(BestRun{goal, winner});
    for (const std::size_t row : known) {
      if (row != winner && are_tied(*goal, *rows[winner].report(), *rows[row].report()))
        one.ties.push_back(row);
    }
  }
  return best;
}

Comparison compare_layouts(std::vector<LayoutChoice> choices, ScenarioRunner& runner,
                           RunStore& store, const RunOwner& owner, const RunHost& host,
                           const std::vector<const Figure*>& wanted) {
  const std::vector<Layout> layouts = combinations(choices);
  std::vector<RunRequest> requests;
  for (const Layout& layout : layouts) requests.push_back(layout.request(choices));
  store.want(requests, owner);
  Comparison comparison;
  comparison.is_complete = run_wanted(requests, runner, store, host);
  store.each_finished([&](std::size_t run, RunOutcome outcome) {
    comparison.rows.push_back({layouts[run], std::move(outcome)});
  });
  comparison.choices = std::move(choices);
  comparison.best = best_layouts(comparison.rows, wanted.empty() ? goals() : wanted);
  return comparison;
}

}  // namespace foretoken
