// The [plan] table of a scenario: what a plan may choose from, and how hard it looks. What each key
// means stands where it is read, and in `foretoken keys plan`.
#pragma once

#include <string>
#include <vector>

#include "sim/base/keys.hpp"
#include "sim/planner/layout_choices.hpp"
#include "sim/planner/plan/slo_trial.hpp"

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
  /// Keys that all choices have: which of several models is planned.
  Changes common;
  bool names_replicas = false;  // the scenario itself does, outside of [plan]
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

std::vector<KeyTable> plan_key_tables();

}  // namespace foretoken
