// What the two ends of measured curves say of any protocol, whatever the fabric: where searches for
// its constants begin.
#pragma once

#include <map>
#include <vector>

#include "calibration/evaluate/comm_rows.hpp"

namespace foretoken {

/// The shortest messages cost a launch and steps, the longest ones a rate and what a rank's own
/// part takes of it.
struct CurveEnds {
  double launch_us = 0;
  double step_us = 0;       // besides the link's latency
  double share = 0;         // of the link rate
  double switch_share = 1;  // the same, had the switch reduced the longest all-reduce of the most
  std::map<CollectiveOp, double> own_part;  // of operations measured with several numbers of ranks
};

/// Medians over the curves of `rows`, of which there must be one: calls of NCCL.
CurveEnds ends_of(const std::vector<const CommRow*>& rows);

}  // namespace foretoken
