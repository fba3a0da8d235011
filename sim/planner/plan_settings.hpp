// The [plan] table of a scenario: what a plan may choose from, and how hard it looks.
//
//   gpus                  ["h100-sxm", "l40s"]: by name; nodes as many as the replicas take
//   clusters              ["h200-sxm-8x4", "mine.toml"]: as large as they are (instead of gpus;
//                         neither: the scenario's cluster)
//   tensor_parallel, pipeline_parallel, data_parallel_attention, expert_parallel
//                         [1, 2, 4, 8]: of [deployment]; absent: the scenario's, but for
//                         tensor_parallel, which is tried at 1, 2, 4 and 8 where nothing else (pools,
//                         attention ranks, expert ranks) hangs on it
//   pools                 ["1:3", "2:2"]: replicas of each pool in one set, in the file's order
//   preset, scheduler, dtype, kv_dtype     ["vllm-v1", "sglang"]
//   vary                  a table of any other keys, [plan.vary.engine] batch_tokens_max = [2048]
//   replicas_max, gpus_max                 64 and 256: no deployment has more
//   prices                { h100-sxm = "2.50 USD/h" }: of a GPU, instead of its file's
//   latency               "e2e_p50": what the front is drawn by besides cost
//   front                 true; false: the cheapest alone, with fewer runs
//   margin                0.05: what holds has to hold 5 % more load than the scenario's
//   pay                   "gpus" in use | whole "nodes": what choices are ranked by
//   replications          [2, 5]: the least and the most seeds that decide whether a fleet holds
//   confidence            0.9: of all intervals
//   tolerance             0.02: how closely the highest load is found
//   candidates_at_once    4
#pragma once

#include <string>
#include <vector>

#include "sim/base/enum_names.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/value.hpp"
#include "sim/planner/layout_choices.hpp"
#include "sim/planner/slo_trial.hpp"

namespace foretoken {

/// What is paid for: GPUs in use, or all of the nodes that they stand in.
enum class PlanPay { gpus, nodes };
template <>
struct EnumNames<PlanPay> {
  static constexpr auto names = std::to_array<std::string_view>({"gpus", "nodes"});
};

struct GpuPrice {
  std::string gpu;
  DollarsPerHour price;
  SourcePosition position = {};
};

struct PlanSettings {
  std::vector<std::string> gpus, clusters;
  std::vector<SourcePosition> cluster_positions;
  std::vector<LayoutChoice> axes;  // all others that were given
  /// Tensor-parallel sizes that are tried because nobody said which; empty: somebody did, or they
  /// are not free.
  std::vector<std::string> usual_tensor;
  bool names_replicas = false;     // the scenario itself does, outside of [plan]
  int replicas_max = 64, gpus_max = 256;
  std::vector<GpuPrice> prices;
  std::string latency = "e2e_p50";
  bool wants_front = true;
  double margin = 0.05;
  PlanPay pay = PlanPay::gpus;
  Replications replications;
  double confidence = 0.9;
  double tolerance = 0.02;
  int candidates_at_once = 4;
};

/// Reads [plan] of a scenario's file, which may be absent. All its mistakes are thrown together.
PlanSettings read_plan_settings(const Value& root);

}  // namespace foretoken
