// What keeping the machines of a run up takes: money and energy.
#pragma once

#include <optional>

namespace foretoken {

struct CostFigures {
  double per_hour = 0;                              // USD; of what was up in the steady state
  std::optional<double> per_million_output_tokens;  // USD; nullopt = there were none
};

struct EnergyFigures {
  double per_request_j = 0;  // all of it, by requests that completed
  double steps_j = 0;        // of GPUs while a step runs
  double idle_j = 0;         // of GPUs that are up without one
  double host_j = 0;         // of nodes beside their GPUs
};

}  // namespace foretoken
