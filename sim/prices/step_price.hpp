// The price of one engine step, kernel by kernel: what `foretoken step` prints. The same generator,
// predictor and collectives as a run, without a clock.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hardware/cluster.hpp"
#include "kernels/communication/collective_cost.hpp"
#include "kernels/predictor.hpp"
#include "sim/prices/placement.hpp"
#include "sim/scenario/speculative.hpp"
#include "workloads/batch_schedule.hpp"
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
  std::string algorithm = {};  // of a collective that formulas price: "two_shot"
  Seconds hidden = {};         // more of it goes on beside others, on another stream
};

/// Passes of a draft behind the step that launch the same kernels.
struct DraftPasses {
  int passes = 0;
  std::vector<StepKernel> kernels;  // of all of them

  [[nodiscard]] Seconds time() const;
};

struct StepCost {
  std::vector<std::vector<StepKernel>> stages;
  std::vector<DraftPasses> drafts = {};
  std::vector<StepKernel> encoder = {};  // of images and audio, before the first stage
  /// Where experts have GPUs of their own: kernels are those of all micro-batches.
  std::optional<SideTimes> sides = {};
  int micro_batches = 1;  // there

  /// What passes on a stage, on GPUs and links that may work at once.
  [[nodiscard]] Seconds time(std::size_t stage) const;
  /// Of encoders, stages and drafts: the latency of one step through an empty pipeline.
  [[nodiscard]] Seconds time() const;
  [[nodiscard]] Seconds compute(std::size_t stage) const;
  [[nodiscard]] Seconds communication(std::size_t stage) const;
  /// Sums over encoders, stages and drafts.
  [[nodiscard]] Seconds compute() const;
  [[nodiscard]] Seconds communication() const;
};

/// Prices `batch` on the first GPUs of `cluster`, whose communication costs what `comm` says. Links
/// count as uncontended. Experts with GPUs of their own have those behind attention's, or the first
/// of their group of nodes.
StepCost price_step(const Transformer& model, const ParallelLayout& layout,
                    const ExecutionSettings& execution, const ClusterSpec& cluster,
                    const CommSettings& comm, const Predictor& predictor, const BatchShape& batch,
                    const NodeGroups& nodes = {});

/// The same for encoding images and audio, at least one, which the model must take.
std::vector<StepKernel> price_media(const Transformer& model, const ParallelLayout& layout,
                                    const ExecutionSettings& execution, const ClusterSpec& cluster,
                                    const CommSettings& comm, const Predictor& predictor,
                                    std::span<const MediaPatches> items);

/// The same for the passes of a draft behind a step of `batch`, which verifies the drafts of the
/// step before.
std::vector<DraftPasses> price_drafts(const SpeculativeSettings& speculative,
                                      const ParallelLayout& target_layout,
                                      const ExecutionSettings& target_execution,
                                      const ClusterSpec& cluster, const CommSettings& comm,
                                      const Predictor& predictor, const BatchShape& batch);

}  // namespace foretoken
