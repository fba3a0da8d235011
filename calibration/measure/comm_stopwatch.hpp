// Times a collective as serving meets it: a chain of equal calls on one stream of every rank, in a
// CUDA graph or enqueued one by one by the host. The ranks are aligned before the chain; the time
// is that of the slowest rank, divided by the calls.
#pragma once

#include <cstddef>
#include <vector>

#include "comm_call.hpp"
#include "nccl_group.hpp"

namespace foretoken::measure {

struct CommTiming {
  double time_us = 0, p10_us = 0, p90_us = 0;  // one call: median and percentiles over repeats
  int calls = 0;                               // in the chain
  int repeats = 0;                             // of the chain
};

class CommStopwatch {
 public:
  /// `buffers` holds one entry a rank; `group` aligns the ranks. Both must outlive this.
  CommStopwatch(const std::vector<Gpu>& gpus, const NcclGroup& group,
                const std::vector<CommBuffers>& buffers);

  /// `in_graph`: otherwise the host enqueues every call, and where that takes longer than the call
  /// it is what is measured.
  CommTiming measure(const CommCall& call, std::size_t bytes, bool in_graph) const;

 private:
  const std::vector<Gpu>& gpus_;
  const NcclGroup& group_;
  const std::vector<CommBuffers>& buffers_;
};

}  // namespace foretoken::measure
