// The order of computation and communication in a step, for the platform to simulate: what stands
// before the layers, the layers, what follows them. Layers are as many equal rounds as their most
// frequent collective has calls; what comes less often (dense layers before those with experts) is
// spread evenly over them. Sums are exact, which layer does what is not.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "kernels/kernel.hpp"
#include "kernels/predictor.hpp"
#include "sim/platform/platform.hpp"

namespace foretoken {

/// Part by part, each with the sums over all its calls; kernels whose time follows the load by
/// number.
class StepCourse {
 public:
  StepCourse() = default;
  explicit StepCourse(std::span<const KernelCall> kernels);

  /// In the kernels' order, each by its place among them.
  void add_time(std::size_t kernel, Seconds time);
  void add_slot(std::size_t kernel, std::size_t slot);
  void add_traffic(std::size_t kernel, const CollectivePhases& phases, CommGroup group, int calls);

 private:
  friend class StepOrder;
  enum Stretch { head, layers, tail };
  struct Part {
    Seconds time;
    std::vector<std::size_t> slots;
    CollectivePhase traffic = {};
    CommGroup group = CommGroup::tensor_parallel;
  };
  /// The last part is open: without traffic so far.
  std::vector<Part>& stretch_of(std::size_t kernel);

  std::size_t layers_begin_ = 0, layers_end_ = 0;  // kernels
  std::array<std::vector<Part>, 3> parts_ = {std::vector<Part>(1), std::vector<Part>(1),
                                             std::vector<Part>(1)};
  std::int64_t repeats_ = 1;
};

/// One or several courses that take turns layer by layer: of what attention ranks do by themselves,
/// and of what they do together.
class StepOrder {
 public:
  /// `slots` are the prices of the course's slots, all calls together.
  void add(const StepCourse& course, std::span<const Prediction> slots);
  /// Empty if nothing is moved.
  [[nodiscard]] std::vector<StepRounds> rounds() const;

 private:
  std::array<std::vector<StepPart>, 3> parts_;  // by stretch, sums over all rounds
  std::int64_t repeats_ = 1;
};

}  // namespace foretoken
