// Kernels for a roofline: prices those of a number of steps again, spread evenly over the run.
// Takes every step at first, and every second one of what it has whenever it has enough, so that
// memory and time stay bounded and a run gives the same points each time.
#pragma once

#include <string>
#include <vector>

#include "sim/report/report.hpp"
#include "sim/serving/step_observer.hpp"

namespace foretoken {

class KernelSampler final : public StepObserver {
 public:
  void on_step(ReplicaId, int, Seconds, Seconds, const Batch&) override {}
  /// Those that only encode images are passed over.
  void on_stage_step(const StageStep& step) override;

  /// Points that a chart could not tell apart are one. Kernels without arithmetic have no place on
  /// a roofline and are left out.
  [[nodiscard]] Roofline roofline() const;

 private:
  /// Steps that are looked at, at most; half as many at least once there have been so many.
  static constexpr std::size_t steps_max = 256;
  struct Sample {
    std::int64_t number;  // of the step
    std::vector<Roofline::Point> points;
  };
  void add_gpu(const GpuSpec& gpu);
  [[nodiscard]] Sample sample(const StageStep& step);

  std::int64_t steps_ = 0, stride_ = 1;
  std::vector<Sample> samples_;
  std::vector<GpuSpec> gpus_;
  std::vector<DType> dtypes_;  // of products
};

}  // namespace foretoken
