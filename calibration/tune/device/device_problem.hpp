// A problem's buffers on the GPU, its reference results, and the judging of candidates against
// them: every output of every shape is compared, then every shape is timed.
#pragma once

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "calibration/tune/device/cuda_driver.hpp"
#include "sim/base/value.hpp"

namespace foretoken::tune {

/// A launch that the driver turned down; the GPU is as before.
class CudaRefusal : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};
/// A kernel broke the context: nothing runs any more in this process.
class CudaFault : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Gpu {
  std::string name;
  std::string architecture;  // "sm_90a"
  int sms = 0;
};
/// The first visible GPU, its context current. Throws std::runtime_error without one.
const Gpu& current_gpu();

class DeviceProblem {
 public:
  DeviceProblem() = default;
  ~DeviceProblem();
  DeviceProblem(const DeviceProblem&) = delete;
  DeviceProblem& operator=(const DeviceProblem&) = delete;

  void prepare(const Value& request);
  ValueObject evaluate(const Value& request);
  /// Runs the candidate on the shapes twice, the second time between the profiler's start and stop,
  /// where Nsight Compute counts. Says how many launches that were.
  ValueObject count(const Value& request);

 private:
  struct DeviceBuffer {
    std::string type, role;
    std::uint64_t count = 0, bytes = 0;
    double scale = 1;
    DevicePointer data = 0;       // outputs end in a guard of guard_bytes
    DevicePointer reference = 0;  // outputs: what the reference wrote
  };
  struct ShapeBuffers {
    std::vector<DeviceBuffer> buffers;
  };
  struct PlannedLaunch {
    Handle function = nullptr;
    unsigned grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
    unsigned shared = 0;
    std::vector<std::uint64_t> words;  // argument values
    std::vector<void*> arguments;      // their addresses
  };
  using Plan = std::vector<PlannedLaunch>;

  void release();
  /// A request's launches, a list for each shape.
  const ValueArray& launches_of(const Value& request) const;
  void fill(DeviceBuffer& buffer, const Value& description, std::uint32_t seed);
  struct LoadedFunction {
    Handle handle = nullptr;
    unsigned shared_max = 0;  // most dynamic shared memory that any shape's launch asked for
  };
  using LoadedFunctions = std::map<std::string, LoadedFunction>;

  Plan plan(const Value& launches, Handle module, const ShapeBuffers& shape, bool reference,
            LoadedFunctions& functions);
  void run(const Plan& plan);
  void wait();
  void call_harness(const char* kernel, std::vector<std::uint64_t> words, unsigned blocks);
  /// "" if all outputs agree with the reference, else what does not.
  std::string disagreement(const ShapeBuffers& shape);
  double seconds(const Plan& plan);

  std::vector<ShapeBuffers> shapes_;
  double tolerance_ = 0;
  Handle stream_ = nullptr, harness_ = nullptr, start_ = nullptr, stop_ = nullptr;
  DevicePointer counter_ = 0;
};

}  // namespace foretoken::tune
