#include "sim/planner/compare.hpp"

#include <algorithm>
#include <limits>

#include "sim/planner/goals.hpp"

namespace foretoken {
namespace {

std::string name_of(const std::vector<LayoutChoice>& choices, const Layout& layout) {
  std::string name;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    name += (i > 0 ? " " : "") + choices[i].key + "=" + layout.values[i];
  }
  return name;
}

}  // namespace

bool Comparison::has_intervals() const {
  return std::ranges::any_of(
      rows, [](const ComparedLayout& row) { return row.figures && row.figures->has_intervals(); });
}

bool BestLayout::has(std::size_t other) const {
  return other == row || std::ranges::find(ties, other) != ties.end();
}

std::vector<BestLayout> best_layouts(const std::vector<ComparedLayout>& rows) {
  std::vector<std::size_t> served;
  bool any_met = false;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (!rows[row].figures || !is_served(*rows[row].figures)) continue;
    served.push_back(row);
    any_met |= rows[row].figures->slo_met;
  }
  if (any_met) std::erase_if(served, [&](std::size_t row) { return !rows[row].figures->slo_met; });
  std::vector<BestLayout> best;
  for (const Goal& goal : goals()) {
    std::optional<std::size_t> found;
    double least = std::numeric_limits<double>::infinity();
    for (const std::size_t row : served) {
      const auto value = goal.value(*rows[row].figures);
      if (!value || *value >= least) continue;
      least = *value;
      found = row;
    }
    if (!found) continue;
    BestLayout& one = best.emplace_back(BestLayout{std::string(goal.name), *found});
    for (const std::size_t row : served) {
      if (row != *found && goal.value(*rows[row].figures) &&
          are_tied(goal, *rows[*found].figures, *rows[row].figures))
        one.ties.push_back(row);
    }
  }
  return best;
}

Comparison compare_layouts(std::vector<LayoutChoice> choices, ScenarioRunner& runner,
                           RowStore& store, const CompareProgress& progress) {
  const std::vector<Layout> layouts = combinations(choices);
  std::vector<std::optional<RunOutcome>> outcomes(layouts.size());
  std::size_t finished = 0;
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    const std::string name = name_of(choices, layouts[i]);
    const auto row = std::ranges::find(store.rows(), name, &StoredRow::name);
    if (row == store.rows().end()) continue;
    outcomes[i] = row->outcome;
    ++finished;
  }
  Comparison comparison;
  std::size_t next = 0, running = 0;
  const auto start_some = [&] {
    for (; next < layouts.size() && running < runner.slots(); ++next) {
      if (outcomes[next]) continue;
      runner.start(next, layouts[next].request(choices));
      ++running;
    }
  };
  if (progress) progress(finished, layouts.size());
  for (start_some(); running > 0; start_some()) {
    auto over = runner.wait();
    if (!over) {
      comparison.is_complete = false;
      break;
    }
    --running;
    store.add({name_of(choices, layouts[over->ticket]), over->outcome});
    outcomes[over->ticket] = std::move(over->outcome);
    if (progress) progress(++finished, layouts.size());
  }
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    if (!outcomes[i]) continue;
    ComparedLayout row{layouts[i], std::move(*outcomes[i]), std::nullopt};
    if (row.outcome.status == RunStatus::ran) row.figures = figures_of(row.outcome.report);
    comparison.rows.push_back(std::move(row));
  }
  comparison.choices = std::move(choices);
  comparison.best = best_layouts(comparison.rows);
  return comparison;
}

}  // namespace foretoken
