// The price of one engine step, kernel by kernel: what `foretoken step` prints. The same generator,
// predictor and collectives as a run, without a clock.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "hardware/cluster.hpp"
#include "kernels/collective_cost.hpp"
#include "kernels/predictor.hpp"
#include "workloads/generator.hpp"

namespace foretoken {

struct StepKernel {
  std::string role;    // "qkv_proj"
  std::string kernel;  // "gemm"
  int calls = 0;
  Seconds time;  // of all calls
  Bound bound_by = Bound::launch;
  Origin origin = Origin::analytic;
  bool is_communication = false;
};

struct StepCost {
  std::vector<std::vector<StepKernel>> stages;

  [[nodiscard]] Seconds compute(std::size_t stage) const;
  [[nodiscard]] Seconds communication(std::size_t stage) const;
  /// Sums over stages: the latency of one step through an empty pipeline.
  [[nodiscard]] Seconds compute() const;
  [[nodiscard]] Seconds communication() const;
};

/// Prices `batch` on the first GPUs of `cluster`, whose communication costs what `comm` says. Links
/// count as uncontended.
StepCost price_step(const Transformer& model, const ParallelLayout& layout,
                    const ExecutionSettings& execution, const ClusterSpec& cluster,
                    const CommSettings& comm, const Predictor& predictor, const BatchShape& batch);

}  // namespace foretoken
