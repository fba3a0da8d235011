// What a run says of attention and experts on GPUs of their own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/report/step_error.hpp"

namespace foretoken {

struct SideFigures {
  std::string gpu;                          // the experts', by title
  int attention_gpus = 0, expert_gpus = 0;  // of a replica
  int micro_batches = 1;
  /// Share of the steps' time in which each side worked, and the busier direction of the links
  /// between, 0 to 1.
  double attention_busy = 0, experts_busy = 0, links_busy = 0;
  std::vector<NamedCount> memory_bytes;  // of one of the experts' GPUs

  /// "attention", "experts" or "links": the busiest, for which the others wait.
  [[nodiscard]] std::string_view binding() const;
};

/// For lines of the terminal's table.
std::vector<std::string> side_parts(const SideFigures& sides);
std::vector<std::string> memory_parts(const std::vector<NamedCount>& pieces);

}  // namespace foretoken
