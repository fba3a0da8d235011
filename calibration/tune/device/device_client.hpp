// The asking side of "foretoken-tune device": compiles, prepares and judges in a child process that
// is started anew whenever it hangs, faults or ends.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "calibration/tune/child_process.hpp"
#include "calibration/tune/evaluation.hpp"
#include "sim/base/value.hpp"

namespace foretoken::tune {

struct DeviceLimits {
  std::chrono::milliseconds compile{60'000};
  std::chrono::milliseconds prepare{120'000};
  std::chrono::milliseconds evaluate{20'000};
};

struct DeviceIdentity {
  std::string gpu;
  std::string architecture;
  int sms = 0;
};

class DeviceClient {
 public:
  /// `command` starts the device process, usually {this program, "device"}.
  explicit DeviceClient(std::vector<std::string> command, DeviceLimits limits = {});

  /// Throws ConfigError if there is no GPU or no driver.
  DeviceIdentity hello();
  /// Compiles to a cubin at `to`. Status ok, compile_error, timeout or crash.
  Evaluation compile(const std::string& source, const std::string& architecture,
                     const std::string& to);
  /// Judges a compiled candidate when no other program on this GPU does, preparing the problem (its
  /// reference compiled to `reference_cubin`) where the process does not hold it. `sms`: see
  /// Launch.
  Evaluation evaluate(const Problem& problem, const std::string& reference_cubin,
                      const Candidate& candidate, const std::string& cubin, int sms);

 private:
  /// The answer's members, or a failure.
  Value ask(const Value& request, std::chrono::milliseconds limit, Evaluation& failure);

  std::vector<std::string> command_;
  DeviceLimits limits_;
  std::unique_ptr<ChildProcess> child_;
  std::string prepared_;
};

}  // namespace foretoken::tune
