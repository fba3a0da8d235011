// Runs a scenario given as text. A process can simulate once: one call a test.
#pragma once

#include <string>
#include <vector>

#include "sim/base/toml.hpp"
#include "sim/run/run.hpp"

namespace foretoken {

inline Scenario scenario_from(const std::string& text,
                              const std::vector<std::string>& overrides = {}) {
  Value root = parse_toml(text, "scenario.toml");
  for (const std::string& assignment : overrides) apply_override(root, assignment);
  return read_scenario(root, {"."});
}

/// Every step of a run, copied.
class StepRecorder final : public StepObserver {
 public:
  struct Step {
    ReplicaId replica;
    int stage;
    Seconds start, duration;
    BatchShape shape;
  };
  void on_step(ReplicaId replica, int stage, Seconds start, Seconds duration,
               const Batch& batch) override {
    steps.push_back({replica, stage, start, duration, batch.shape});
  }
  std::vector<Step> steps;
};

}  // namespace foretoken
