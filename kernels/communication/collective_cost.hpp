// Which algorithm and protocol a communication library would take for a collective, and what that
// costs when nobody else uses the links. The algorithms are variants (algorithms/): each
// says which operations and groups it serves, and describes itself as phases of traffic. From the
// same phases come the closed-form time (here) and the flows of sim/platform, so both agree.
//
// The choice follows the libraries: NCCL takes the candidate that its cost model finds fastest
// (tuning.cc), a serving framework takes its own all-reduce kernel where its limits of size and
// ranks allow (engine_all_reduce.hpp).
#pragma once

#include <boost/container/static_vector.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/comm_parameters.hpp"
#include "kernels/communication/collectives.hpp"
#include "kernels/kernel.hpp"

namespace foretoken {

/// Who sends to whom in a phase.
///   ring          each rank to the next, node by node; a node is left over all its rails at once
///   ring_of_node  each rank to the next of its node, the last to the first
///   rails         each rank to its like on the next node, over the NICs next to it
///   exchange      each rank to every other
///   pair          the first of two ranks to the second
enum class TrafficPattern { ring, ring_of_node, rails, exchange, pair };

struct CollectivePhase {
  TrafficPattern pattern = TrafficPattern::ring;
  int steps = 1;
  Seconds latency;      // of all steps together, launch included
  Bytes bytes;          // that each rank sends in all steps together
  BytesPerSecond rate;  // at which it does when nobody else uses the links
  /// exchange over several nodes: the share of `bytes` that stays in the node.
  double inside_share = 1;

  [[nodiscard]] Seconds transfer() const { return bytes.value() > 0 ? bytes / rate : Seconds(0); }
  [[nodiscard]] Seconds time() const { return latency + transfer(); }
};

/// Phases follow one another: the most is reduce-scatter, all-reduce between nodes, all-gather.
using CollectivePhases = boost::container::static_vector<CollectivePhase, 3>;

struct CollectiveCost {
  std::string_view algorithm;  // "ring"; "" for a group of one
  Protocol protocol = Protocol::simple;
  CollectivePhases phases;

  [[nodiscard]] Seconds time() const;
};

/// Who prices what was not measured: the closed form, or nobody.
enum class CommFallback { none, model };
template <>
struct EnumNames<CommFallback> {
  static constexpr auto names = std::to_array<std::string_view>({"none", "model"});
};

/// Prices from the database of measurements (communication_price.hpp): where to look them up.
struct MeasuredPrices {
  GpuSpec gpu;
  BytesPerSecond link_rate;               // of a GPU inside its node, link_efficiency included
  BytesPerSecond network_rate;            // of a node's network cards together; 0: one node
  Framework framework = Framework::vllm;  // whose all-reduce "auto" is
  CommFallback fallback = CommFallback::none;
};

/// Which protocols NCCL may take, as NCCL_PROTO: the cheapest, or one.
enum class NcclProtocol { automatic, ll, ll128, simple };
template <>
struct EnumNames<NcclProtocol> {
  static constexpr auto names = std::to_array<std::string_view>({"auto", "ll", "ll128", "simple"});
};

/// What a run chooses for all its collectives.
struct CommSettings {
  CommParameters parameters;
  std::string all_reduce = "auto";
  std::optional<MeasuredPrices> measured = {};  // nullopt: the closed form prices all
  NcclProtocol protocol = NcclProtocol::automatic;
  double stretch = 1;     // every price is multiplied by
  bool in_steps = false;  // CollectiveCall::in_step of every call
};

struct CollectiveCall {
  CollectiveOp op = CollectiveOp::all_reduce;
  Bytes size;  // as Collective::bytes counts it
  ExpertTraffic experts = {};
  /// all_reduce: an engine's choice ("sglang", "vllm-0.14": engine_all_reduce.hpp), "nccl" (none of
  /// the engines' kernels), an algorithm's name, or "auto": what engines have in common, one shot
  /// and two shot at the fabric's own costs.
  std::string_view algorithm = "auto";
  NcclProtocol protocol = NcclProtocol::automatic;
  bool in_graph = true;  // replayed from a CUDA graph; else at least the host's floor
  /// Between the kernels of a step, where NCCL's collectives take nccl_step_wait longer than back
  /// to back; nobody measured whether engines' own kernels do.
  bool in_step = false;
  bool reduces_in_switch = true;  // NVLink SHARP adds fp16, bf16 and fp32, not integers
  /// How many times as long every phase takes as the closed form says: what was measured, and what
  /// the settings stretch.
  double stretch = 1;
};

/// NCCL's kernels start when all before them has ended, and end when the slowest rank has come.
/// What that adds to a collective inside a step was chosen on decode steps of Llama-3.1-8B on two
/// H200s (calibration/datasets/h200/steps_ranks.csv.gz); steps on four, and of other models, judge
/// it.
constexpr Seconds nccl_step_wait(2e-6);

/// A kernel's call as the settings choose, which must outlive it.
CollectiveCall call_of(const Collective& kernel, const CommSettings& settings);

/// The candidate that is taken. An algorithm that does not serve this group (one_shot across
/// nodes) gives way to "nccl"; may_all_reduce() says so beforehand.
CollectiveCost collective_cost(const CollectiveCall& call, const GroupLinks& links,
                               const CommParameters& parameters);

/// Its time; a group of one costs nothing.
Seconds collective_time(const CollectiveCall& call, const GroupLinks& links,
                        const CommParameters& parameters);

/// Whether a group with these links may all-reduce by the algorithm called `name`; always true for
/// "auto", "nccl" and a group of one.
bool may_all_reduce(std::string_view name, const GroupLinks& links,
                    const CommParameters& parameters);

/// "auto", "nccl", the engines and the algorithms that all-reduce, as a scenario may name them. An
/// engine's name may be followed by a version besides: "vllm-0.14".
std::vector<std::string_view> all_reduce_names();
bool is_all_reduce_name(std::string_view name);

}  // namespace foretoken
