// Measured all-reduces of serving engines, each of the version that its table knows
// (kernels/communication/engine_all_reduce.hpp): what the tables' constants are fitted to and
// judged by. Unlike comm_rows(), which takes all versions of a library for one, they tell versions
// apart.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "calibration/evaluate/comm_rows.hpp"
#include "kernels/communication/engine_all_reduce.hpp"

namespace foretoken {

struct EngineRow {
  CommRow row;
  Framework engine = Framework::vllm;
  std::string since;   // of the choice that the version falls under
  std::string fabric;  // as the choice's

  /// As all_reduce names it: "vllm-0.24".
  [[nodiscard]] std::string name() const;
};

/// All-reduces inside CUDA graphs of one node. Versions under one choice that measured the same
/// call are one row: their geometric mean.
std::vector<EngineRow> engine_rows(std::span<const CommSample> samples,
                                   const AllReduceChoices& choices);

}  // namespace foretoken
