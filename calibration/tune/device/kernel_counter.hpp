// Counts kernels on this machine's GPU: the device process (device_loop.hpp) under Nsight Compute,
// one start for any number of candidates of a problem. They have been judged before: what faults
// or hangs here costs all of them. It needs `ncu` in PATH and the right to read counters.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "calibration/tune/evaluation.hpp"

namespace foretoken::tune {

class KernelCounter {
 public:
  /// `device_command` starts the device process, usually {this program, "device"}. Nsight Compute
  /// is `profiler` (`ncu`; a test has another).
  explicit KernelCounter(std::vector<std::string> device_command, std::string profiler = "ncu");

  struct Compiled {
    Candidate candidate;
    std::string cubin;
  };
  /// A profile of each, on shape `shape` of the problem, whose reference is compiled to
  /// `reference_cubin`. Throws ConfigError where nothing can be counted.
  [[nodiscard]] std::vector<Profile> count(const Problem& problem, std::size_t shape,
                                           const std::string& reference_cubin,
                                           const std::vector<Compiled>& candidates, int sms) const;

 private:
  std::vector<std::string> device_command_;
  std::string profiler_;
};

}  // namespace foretoken::tune
