// A stage's program as runs of computation and communication. What lies between two collectives of
// a layer is one segment, each collective (or several in a row) another; a block is a layer that
// repeats, or the parts before and after the layers. The two-batch schedule is built on them.
#pragma once

#include <vector>

namespace foretoken {

/// What a GPU does at the same time: kernels, and transfers to other GPUs.
enum class Stream { compute, communication };

struct SegmentBlock {
  int first_segment = 0;
  std::vector<Stream> segments;  // in order; numbered from first_segment
  int repeats = 1;               // layers
};

}  // namespace foretoken
