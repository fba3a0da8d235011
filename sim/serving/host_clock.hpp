// When the CPU lets a step run: scheduling, input preparation, launches, sampling parameters and
// output handling take time before the GPU can start, unless the engine does them while the GPU is
// still busy with the step before (vLLM's asynchronous scheduling, SGLang's and TensorRT-LLM's
// overlap schedulers). What a step costs the CPU is a constant and a share for each sequence: the
// engines' loops are Python over their sequences. Left out: contention with other processes, and a
// front end so slow that its outputs queue.
#pragma once

#include <cstdint>

#include "sim/serving/settings/host_settings.hpp"

namespace foretoken {

/// What one step gives the CPU to do.
struct HostWork {
  std::int64_t sequences = 0, admissions = 0;
  std::int64_t tokens = 0;          // new ones
  std::int64_t launches = 0;        // of single kernels
  std::int64_t layers = 0;          // whose kernels these are
  std::int64_t graph_launches = 0;  // of graphs
};

class HostClock {
 public:
  /// `costs` as they are on this CPU (HostSettings::here).
  explicit HostClock(const HostSettings& costs) : costs_(costs) {}

  [[nodiscard]] const HostSettings& costs() const { return costs_; }

  /// A step is scheduled at `now` that takes the GPU `gpu_time`. Returns by how much longer it
  /// takes because of the CPU. Calls come in order of time.
  Seconds delay(Seconds now, Seconds gpu_time, const HostWork& work);
  /// The engine starts anew: what is compiled on first use is to be compiled again.
  void restart() { has_used_all_ = false; }
  /// The GPU has ended that step.
  void step_ended(Seconds now) { last_end_ = now; }

  /// CPU time of all steps, and the part of it that the GPU waited for.
  [[nodiscard]] Seconds worked() const { return worked_; }
  [[nodiscard]] Seconds waited() const { return waited_; }

 private:
  HostSettings costs_;
  bool has_used_all_ = false;  // costs_.first_use is spent
  Seconds free_;               // the CPU has launched everything so far
  Seconds last_start_;         // of the step before, on the GPU
  Seconds last_end_{-1.0};     // likewise
  Seconds worked_, waited_;
};

}  // namespace foretoken
