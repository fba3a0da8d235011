// When parts of a step's batch take turns, so that one computes while another communicates: the two
// halves of two-batch overlap (DeepSeek-V3 report, section 3.4; SGLang's and vLLM's dual batches),
// and micro-batches that go back and forth between attention's GPUs and those of the experts
// (MegaScale-Infer's ping-pong pipeline, arXiv 2504.02263, section 4.1). Each part's segments
// follow each other; on each stream the parts take turns. The step takes as long as the longest
// path through that. What it leaves out: the SMs that communication kernels occupy, and memory
// bandwidth that streams of a GPU share.
#pragma once

#include <span>
#include <vector>

#include "sim/base/quantity.hpp"
#include "workloads/segments.hpp"

namespace foretoken {

/// Where attention and experts are apart: for how long either side and the links between worked in
/// a step, or in many.
struct SideTimes {
  Seconds step;       // from beginning to end
  Seconds attention;  // its GPUs
  Seconds experts;    // theirs
  Seconds links;      // the busier direction of those between

  SideTimes& operator+=(const SideTimes& other);
};

class BatchSchedule {
 public:
  /// Layers that repeat are taken one after the other, block by block. Where experts are apart,
  /// what a part computes behind them and before the next is one turn: attention's GPUs wait for
  /// nobody in between.
  explicit BatchSchedule(const std::vector<SegmentBlock>& blocks);

  /// Time of all repeats of each segment, by number, for each part; the repeats are alike. One
  /// part: the sum.
  [[nodiscard]] Seconds critical_path(std::span<const std::vector<Seconds>> parts) const;

  [[nodiscard]] SideTimes sides(std::span<const std::vector<Seconds>> parts) const;

  /// The stream of each segment, by number.
  [[nodiscard]] const std::vector<Stream>& streams() const { return streams_; }

 private:
  struct Task {
    int segment = 0;
    double share = 1;  // of the segment's repeats
  };
  /// What a part does on a stream before it is the next part's turn.
  struct Turn {
    Stream stream = Stream::compute;
    std::vector<Task> tasks;
  };

  std::vector<Turn> turns_;
  std::vector<Stream> streams_;
};

}  // namespace foretoken
