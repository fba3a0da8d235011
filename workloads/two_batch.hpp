// Two-batch overlap: a step's batch runs as two halves that take turns, so that one computes while
// the other communicates (DeepSeek-V3 report, section 3.4; SGLang's and vLLM's dual batches). Each
// half's segments follow each other; on each of the GPU's two streams the halves alternate. The
// step takes as long as the longest path through that graph. What it leaves out: the SMs that
// communication kernels occupy, and memory bandwidth that both streams share.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "sim/base/quantity.hpp"
#include "workloads/segments.hpp"

namespace foretoken {

class TwoBatchSchedule {
 public:
  /// Layers that repeat are taken one after the other, block by block.
  explicit TwoBatchSchedule(const std::vector<SegmentBlock>& blocks);

  /// Time of all repeats of each segment, by number, for either half; the repeats are alike.
  [[nodiscard]] Seconds critical_path(std::span<const Seconds> first,
                                      std::span<const Seconds> second) const;

 private:
  struct Task {
    int half = 0;
    int segment = 0;
    double share = 1;  // of the segment's repeats
    /// What must end first, by number from 1: of its half, and on its stream. 0: nothing.
    std::array<std::size_t, 2> after = {};
  };

  std::vector<Task> tasks_;  // in topological order
};

}  // namespace foretoken
