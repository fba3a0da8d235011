// A stage's program as runs of computation and communication. What lies between two collectives of
// a layer is one segment, each collective (or several in a row) another; a block is a layer that
// repeats, or the parts before and after the layers. The schedules of batches that overlap
// (batch_schedule.hpp) are built on them.
#pragma once

#include <cstddef>
#include <vector>

namespace foretoken {

/// What goes on at the same time: kernels, and transfers to other GPUs. Where experts have GPUs of
/// their own, `compute` is all that attention's GPUs do, transfers among them included; the
/// experts' GPUs and either direction of the links between are the others.
enum class Stream { compute, communication, to_experts, experts, from_experts };
inline constexpr std::size_t stream_count = 5;

struct SegmentBlock {
  int first_segment = 0;
  std::vector<Stream> segments;  // in order; numbered from first_segment
  int repeats = 1;               // layers
};

}  // namespace foretoken
