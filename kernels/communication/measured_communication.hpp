// Prices communication from a database of measurements, as SynPerf does it: a first-order law (a
// launch, steps, bytes over a rate, for short and for long messages) fitted to each curve, times a
// correction that a random forest learned from everything that was measured. Between two measured
// sizes the correction is interpolated and the time stays between theirs. What nobody measured on
// such a fabric has no price here. It stands apart from the formulas of collectives.hpp: better
// ones change no price of it. calibration/fit/comm_fit.cpp makes it.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/communication/collectives.hpp"
#include "kernels/networks/regression_forest.hpp"
#include "kernels/predictor.hpp"

namespace foretoken {

/// Whose kernels. vllm, sglang and trtllm are the all-reduces of these frameworks, which hand large
/// messages to NCCL; one_shot and two_shot are ours, over peer memory.
enum class CommLibrary { nccl, vllm, sglang, trtllm, deepep, one_shot, two_shot };
template <>
struct EnumNames<CommLibrary> {
  static constexpr auto names = std::to_array<std::string_view>(
      {"nccl", "vllm", "sglang", "trtllm", "deepep", "one_shot", "two_shot"});
};

/// How calls were issued. graph: inside a CUDA graph. eager: one by one by the host. torch: so,
/// timed by PyTorch's profiler. bench: by a benchmark in C++, faster than the GPU takes them.
enum class CommLaunch { graph, eager, torch, bench };
template <>
struct EnumNames<CommLaunch> {
  static constexpr auto names =
      std::to_array<std::string_view>({"graph", "eager", "torch", "bench"});
};

/// A call, who makes it and between which GPUs.
struct CommPoint {
  CollectiveOp op = CollectiveOp::all_reduce;
  double bytes = 0;  // as Collective::bytes counts them
  ExpertTraffic experts = {};
  CommLibrary library = CommLibrary::nccl;
  CommLaunch launch = CommLaunch::graph;
  double element_bytes = 2;
  int sms = 0;  // deepep: that carry the messages; 0 = its own choice
  int nodes = 1, ranks = 2;
  BytesPerSecond link_rate;     // of a GPU inside its node, efficiency included
  BytesPerSecond network_rate;  // of a node's network cards together, so too; 0: one node
  int compute_capability = 0;   // of the GPUs
};

/// A point between GPUs of this cluster's kind; the rest of it is the caller's.
CommPoint point_on(const ClusterSpec& cluster, int nodes, int ranks);

/// launch + steps * step + bytes * traffic / rate, with the steps and the traffic of rings and of
/// pairwise exchanges: all_reduce 2 (n-1), between nodes a tree's 2 log2 n, and 2 (n-1) / n,
/// all_gather and reduce_scatter half of both, all_to_all 1 and (n-1) / n, broadcast n-1 and 1,
/// send_recv 1 and 1; expert exchange 1 and the other ranks that a token goes to (low_latency: its
/// experts there), drawn evenly.
struct CommLine {
  Seconds launch, step;
  BytesPerSecond rate;
  friend bool operator==(const CommLine&, const CommLine&) = default;
};

/// The faster of two lines: a protocol for short messages and one for long ones.
struct CommLaw {
  std::array<CommLine, 2> lines;

  [[nodiscard]] Seconds time(const CommPoint& point) const;
  /// In microseconds and GB/s of four digits: what an artifact holds. A forest is grown on these.
  [[nodiscard]] std::vector<double> numbers() const;
  static CommLaw from_numbers(std::span<const double> numbers);
  friend bool operator==(const CommLaw&, const CommLaw&) = default;
};

/// What of a fabric was measured: sizes ascending, ranks ascending.
struct MeasuredCurve {
  CollectiveOp op = CollectiveOp::all_reduce;
  CommLibrary library = CommLibrary::nccl;
  CommLaunch launch = CommLaunch::graph;
  ExpertMode mode = ExpertMode::normal;
  int nodes = 1;
  BytesPerSecond network_rate;  // as CommPoint's
  std::vector<int> ranks;
  std::vector<double> sizes;
  CommLaw law;  // fitted to it
  friend bool operator==(const MeasuredCurve&, const MeasuredCurve&) = default;
};

struct MeasuredFabric {
  std::string name;            // "h100-sxm": the cluster's GPU
  int compute_capability = 0;  // of its GPUs
  BytesPerSecond link_rate;    // as CommPoint's
  std::vector<MeasuredCurve> curves;

  /// The curve of the point's operation, library, launch, nodes and network, whatever its ranks and
  /// size; nullptr if there is none.
  [[nodiscard]] const MeasuredCurve* find(const CommPoint& point) const;
};

class MeasuredCommunication {
 public:
  static constexpr int feature_count = 14;
  using Features = std::array<float, feature_count>;

  MeasuredCommunication(std::vector<MeasuredFabric> fabrics, RegressionForest correction,
                        double expected_error)
      : fabrics_(std::move(fabrics)),
        correction_(std::move(correction)),
        expected_error_(expected_error) {}

  /// calibration/artifacts/comm/measured.json, compiled in.
  static const MeasuredCommunication& built_in();

  /// From a fabric with the caller's GPU, or behind an NVSwitch with a sibling's on links of the
  /// same rate. Throws PredictionError that says what is missing: such a fabric, or one on which
  /// this operation was measured with so many ranks. A message smaller than the smallest measured
  /// one costs what that costs; one larger than the largest grows as the law does.
  [[nodiscard]] Prediction price(const CommPoint& point, std::string_view gpu) const;
  /// The same, or nullopt.
  [[nodiscard]] std::optional<Prediction> find_price(const CommPoint& point,
                                                     std::string_view gpu) const;

  /// The time of a call with a fabric's law and sizes, at the point's own link rate, measured there
  /// or not. Throws PredictionError if the fabric has no such operation of this library at all.
  [[nodiscard]] Seconds time_on(const MeasuredFabric& fabric, const CommPoint& point) const;

  /// The fabric called `name`, or nullptr.
  [[nodiscard]] const MeasuredFabric* find(std::string_view name) const;
  /// The fabric most like the point's that knows its operation, or nullptr.
  [[nodiscard]] const MeasuredFabric* nearest(const CommPoint& point) const;

  /// Of a point whose first-order time is known: what the forest is grown on.
  static Features features(const CommPoint& point, Seconds first_order);

  [[nodiscard]] const std::vector<MeasuredFabric>& fabrics() const { return fabrics_; }
  [[nodiscard]] const RegressionForest& correction() const { return correction_; }

  [[nodiscard]] Value to_value() const;
  /// Throws ConfigError for a value that is no such database.
  static MeasuredCommunication from_value(const Value& value);

 private:
  [[nodiscard]] Seconds time(const CommPoint& point, const MeasuredCurve& curve,
                             const CommLaw& law) const;
  [[nodiscard]] Seconds corrected(const CommPoint& point, const CommLaw& law, double trust) const;

  std::vector<MeasuredFabric> fabrics_;
  RegressionForest correction_;
  double expected_error_;
};

}  // namespace foretoken
