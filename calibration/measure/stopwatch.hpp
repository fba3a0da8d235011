// Times a kernel the way a serving step meets it: inside a CUDA graph (no host gaps), every launch
// on data that is not in L2, at the clock the card chooses by itself. A time is that of one launch
// in a chain of dependent launches, so it includes the gap to its neighbour; the launch floor in
// microbench.json says how large that gap is.
#pragma once

#include <functional>
#include <optional>

#include "arena.hpp"
#include "gpu.hpp"
#include "launch_identity.hpp"

namespace foretoken::measure {

/// Puts one call of the operation on the stream. Must be capturable.
using Launch = std::function<void(const Buffers&, cudaStream_t)>;

struct Timing {
  double time_us = 0, p10_us = 0,
         p90_us = 0;              // one launch, L2 cold: median, percentiles of repeats
  std::optional<double> warm_us;  // the same buffers again and again, median
  double sm_clock_mhz = 0;        // mean over the repeats, from the SM's own counter
  // The same after settle_ms of this kernel alone, when its own power decides the clock; only for
  // launches long enough that it matters.
  std::optional<double> sustained_us;
  double sustained_clock_mhz = 0;
  int launches = 0;  // per graph, each on its own buffers
  int repeats = 0;   // of the graph, L2 swept before each
  LaunchIdentity identity;
};

class Stopwatch {
 public:
  /// Before each shape the card rests for a moment, so that the clock is not the one that its
  /// predecessor left behind. `settle_ms` is how long a kernel runs before its sustained time.
  Stopwatch(const Gpu& gpu, Arena& arena, double settle_ms);
  ~Stopwatch();
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

  /// Everything but the sustained time. Throws std::runtime_error where the footprint has no room
  /// or a CUDA call fails.
  Timing measure(const Footprint& footprint, const Launch& launch);

  /// Adds the sustained time, if the launch is long enough to have one.
  void sustain(const Footprint& footprint, const Launch& launch, Timing& timing);

  /// One plain launch between cudaProfilerStart and cudaProfilerStop, for an outside profiler.
  LaunchIdentity launch_once(const Footprint& footprint, const Launch& launch);

  /// What a graph takes from event to event beside its kernels; subtracted from every time.
  double graph_head_us() const { return graph_head_us_; }

 private:
  cudaGraph_t capture(const Footprint& footprint, const Launch& launch, int launches, bool rotate);
  /// Kernel time per launch, after `settle_us` of untimed replays.
  std::vector<double> replay(cudaGraph_t graph, int launches, int repeats, bool sweep,
                             double settle_us);
  double measure_graph_head();
  double stamped_clock_mhz() const;
  void sweep_l2();

  const Gpu& gpu_;
  Arena& arena_;
  std::byte* sweep_buffer_ = nullptr;
  std::size_t sweep_bytes_ = 0;
  double settle_us_ = 0;
  double graph_head_us_ = 0;
  struct Stamp* stamps_ = nullptr;  // pinned: before and after the repeats
  std::vector<cudaEvent_t> events_;
};

}  // namespace foretoken::measure
