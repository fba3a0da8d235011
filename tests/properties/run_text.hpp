// Runs a scenario given as text. A process can simulate once: one call a test.
#pragma once

#include <string>
#include <vector>

#include "sim/base/change.hpp"
#include "sim/base/toml.hpp"
#include "sim/run/run.hpp"

namespace foretoken {

/// Two replicas of two stages, so busy and with so few KV blocks that they preempt.
inline constexpr const char* busy_pipelines = R"(
[model]
name = "llama-3.1-8b"
[cluster]
name = "h200-sxm-8"
[deployment]
tensor_parallel = 2
pipeline_parallel = 2
replicas = 2
router = "least_outstanding"
[engine]
batch_tokens_max = 512
sequences_max = 32
kv_blocks = 160
[workload]
arrivals = "poisson"
rate = "40 /s"
requests = 400
prompt_tokens = { distribution = "lognormal", mean = 300, p99 = 1200, max = 2000 }
output_tokens = { distribution = "lognormal", mean = 80, p99 = 300, max = 500 }
)";

/// 21 tokens for one prompt.
inline constexpr const char* lone_request = R"(
[model]
name = "llama-3.1-8b"
[cluster]
name = "h200-sxm-1"
[workload]
arrivals = "all_at_once"
requests = 1
prompt_tokens = 700
output_tokens = 21
)";

inline Scenario scenario_from(const std::string& text,
                              const std::vector<std::string>& overrides = {}) {
  Value root = parse_toml(text, "scenario.toml");
  apply_changes(root, parse_changes(overrides));
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
