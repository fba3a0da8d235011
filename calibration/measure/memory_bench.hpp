// Bandwidth and latency of DRAM and L2, and what a kernel launch costs.
#pragma once

#include <cstddef>
#include <vector>

#include "arena.hpp"
#include "gpu.hpp"

namespace foretoken::measure {

struct Bandwidth {
  std::size_t bytes = 0;  // moved in one launch: read, or for a copy read and written together
  int sms = 0;
  double us = 0;
  double gb_per_second = 0;
};
struct Latency {
  std::size_t bytes = 0;  // the range the chain of loads walks
  double cycles = 0, ns = 0;
};
struct LaunchFloor {
  int grid = 0, block = 0;
  double first_us = 0;  // graph of one kernel, event to event
  double next_us = 0;   // each further kernel of a chain
};

/// Streams `bytes` from DRAM with `sms` blocks, one to an SM. Data is not in L2 before.
Bandwidth dram_read(const Gpu& gpu, Arena& arena, std::size_t bytes, int sms);
Bandwidth dram_copy(const Gpu& gpu, Arena& arena, std::size_t bytes);
/// Reads a range again and again, bypassing L1; `range` is at least 16 KiB times `sms`.
Bandwidth l2_read(const Gpu& gpu, Arena& arena, std::size_t range, int sms);
/// A chain of dependent loads at random places of a range that was just read once; L1 bypassed.
Latency load_latency(const Gpu& gpu, Arena& arena, std::size_t range);
LaunchFloor launch_floor(const Gpu& gpu, int grid, int block);

}  // namespace foretoken::measure
