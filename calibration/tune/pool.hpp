// The candidate pool (Equation 2): every valid kernel of a run, the untouched one first, with what
// a policy may know of it.
#pragma once

#include <array>
#include <vector>

#include "calibration/tune/evaluation.hpp"
#include "hardware/gpu.hpp"

namespace foretoken::tune {

/// Equation 9's six: ln time, ln(1 + registers), ln(1 + KiB of shared memory), ln threads of a
/// block, ln blocks, occupancy in [0, 1]. The paper names two block dimensions; we hold a block's
/// threads and the grid's blocks, which tell one-dimensional blocks apart too.
inline constexpr int runtime_size = 6;
using RuntimeFeatures = std::array<double, runtime_size>;

struct PoolEntry {
  Candidate candidate;
  int parent = -1;
  std::vector<double> seconds;  // by shape
  double time = 1;              // relative to the untouched kernel: one over the speed-up
  Profile profile{};
  bool is_counted = false;  // the profile is of hardware counters
  RuntimeFeatures runtime{};
  double compile_seconds = 0;
};

using Pool = std::vector<PoolEntry>;

/// `evaluation` is ok. Hardware counters where it has them. Otherwise by costs, times and the
/// driver: share of the peak of the pipe in use, of DRAM and of L2 bandwidth, share of the last
/// wave that is filled, share of an SM's threads that can be resident, share of the tensor peak,
/// part of L2 traffic beyond the compulsory, local bytes a thread (spills), registers a thread;
/// threads resident on an SM, clocks and bandwidths come from `gpu`.
Profile profile_of(const Problem& problem, const Candidate& candidate, const Evaluation& evaluation,
                   const GpuSpec& gpu);
/// The same, whether there are counters or not.
Profile cost_profile_of(const Problem& problem, const Candidate& candidate,
                        const Evaluation& evaluation, const GpuSpec& gpu);
RuntimeFeatures runtime_features_of(const Evaluation& evaluation, double time, const GpuSpec& gpu);

}  // namespace foretoken::tune
