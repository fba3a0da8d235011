// Kernels that stream rows through the SMs, one pass or two, without reuse: norms, activations,
// rotary embedding, copies, sampling. Their time is a launch, plus whatever is longest of moving
// the bytes, the latency of the CTAs that follow each other on an SM, and handing CTAs out; the
// longer two overlap imperfectly. A formula with constants per kernel, fitted on one GPU (H200) and
// written in cycles and shares of the specification, so that it carries to others; the network of
// such a family is tiny and corrects per cents.
// A launch may find what it works on in the L2, where the kernel before has left it, as in a step.
// Then the share that still is there moves at the L2's rate, fitted to an H200's warm launches
// (warm_us in calibration/datasets/h200). Launches that repeat one kernel save an access's latency
// besides; in executed steps nobody does, whose instructions, weights and tables come from afar.
#pragma once

#include "kernels/estimators/estimator.hpp"

namespace foretoken {

/// What one launch looks like to the hardware.
struct StreamShape {
  double ctas = 1;
  double threads = 128;  // a CTA
  double rounds = 1;     // 16-byte accesses of a thread, one after the other; may be fractional
  double steps = 0;      // dependent steps beside them: picks of a top-k
  double bytes = 0;      // read and written
  /// Distinct bytes that the launch finds in the L2 or leaves there, all that it moves among them;
  /// what works in place has fewer than it moves. 0: cold.
  double footprint = 0;
  bool is_narrow = false;  // writes a narrower format than it reads
};

/// All times in SM clocks unless said otherwise.
struct StreamConstants {
  double launch = 1;             // in GpuSpec::launch_latency
  double first_round = 400;      // a CTA whose threads access once
  double full_cta = 1000;        // more in a CTA of 1024 threads: barriers, reductions
  double round = 1400;           // each further full round
  double tail = 1000;            // a last round that not all threads take part in
  double tail_share = 1000;      // more, times the share of threads that do
  double step = 0;               // each of StreamShape::steps
  double cta_issue = 100;        // of an SM's share of the CTAs, each
  double dram_share = 0.8;       // of the DRAM bandwidth
  double dram_share_narrow = 0;  // the same for is_narrow; 0 = no difference
  double l2_share = 0.65;        // of the L2 bandwidth, for what is found there
  /// Bytes a cycle and SM from DRAM, where something else than its bandwidth may be the limit:
  /// translations that miss, a kernel's own loop. 0 = no such limit.
  double sm_rate = 0;
  double overlap = 1.5;  // exponent: 1 = parts add up, infinite = the longest hides the rest
  double wave = 0.8;     // what a further wave of CTAs costs, in the first's latency
  double error = 0;      // of T alone, where there are no networks: EstimatorFamily's
};

class StreamFamily final : public EstimatorFamily {
 public:
  using ShapeOf = StreamShape (*)(const Kernel& kernel, const GpuSpec& gpu);
  using Covers = bool (*)(const Kernel& kernel);

  /// `takes` says which kernels the family prices.
  StreamFamily(std::string_view name, Covers takes, ShapeOf shape_of,
               const StreamConstants& constants)
      : name_(name), takes_(takes), shape_of_(shape_of), constants_(constants) {}

  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] int version() const override { return 2; }
  [[nodiscard]] const std::vector<std::string>& feature_names() const override;
  [[nodiscard]] bool covers(const Kernel& kernel, const GpuSpec&) const override {
    return takes_(kernel);
  }
  [[nodiscard]] FirstOrder first_order(const Kernel& kernel, const GpuSpec& gpu) const override;
  void features(const Kernel& kernel, const GpuSpec& gpu, FeatureSink& out) const override;
  [[nodiscard]] double first_order_error() const override { return constants_.error; }
  /// None: T itself is that of a cold launch where the kernel says so.
  [[nodiscard]] Seconds cold_extra(const Kernel&, const GpuSpec&) const override { return {}; }

 private:
  std::string_view name_;
  Covers takes_;
  ShapeOf shape_of_;
  StreamConstants constants_;
};

/// Whether a kernel is of this type.
template <class Kind>
bool is_kind(const Kernel& kernel) {
  return std::holds_alternative<Kind>(kernel);
}

/// A CTA a row whose threads take 16 bytes at a time, as many warps as that needs up to `most`.
StreamShape row_shape(std::int64_t rows, double row_bytes, double threads_most);

/// The families of kernels with a CTA a token (elementwise.cpp).
std::vector<const EstimatorFamily*> elementwise_families();

}  // namespace foretoken
