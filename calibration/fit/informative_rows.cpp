#include "calibration/fit/informative_rows.hpp"

#include "calibration/selection/launch_choice.hpp"

namespace foretoken {

Rows informative_rows(const FamilyTable& table, const Rows& rows, const Artifact& artifact,
                      std::size_t count) {
  // The hash shuffles: tables are sorted by shape, and an even thinning would meet their rhythm.
  const Rows candidates = picked(table, rows, choice_candidates_max);
  std::vector<std::vector<float>> states;
  for (const std::size_t row : candidates) {
    states.emplace_back(artifact.ensemble.state_width());
    static_cast<void>(artifact.ensemble.run(table.input(row), states.back()));
  }
  Rows chosen;
  for (const std::size_t index : choose_launches(states, count)) {
    chosen.push_back(candidates[index]);
  }
  return chosen;
}

}  // namespace foretoken
