#include "sim/planner/plan_requests.hpp"

#include <algorithm>

#include "sim/base/unit_text.hpp"

namespace foretoken {
namespace {

// Requests of a run of one unit: enough for a 99th percentile, a tenth of a long trace.
constexpr double unit_requests = 2000;
constexpr double unit_warmup = 0.1;  // share of such a run that is not counted
constexpr int windows = 5;           // of a trace, spread over it
constexpr int trace_parts = 4;       // that a fleet's figures are compared over
constexpr double part_warmup = 0.05;

std::string assignment(std::string_view key, std::string_view value) {
  return fmt::format("{}={}", key, value);
}
std::string assignment(std::string_view key, double value) {
  return fmt::format("{}={}", key, value);
}

}  // namespace

std::string CandidateKeys::cluster_name(int units) const {
  if (gpu.empty()) return cluster;
  int nodes = 0;
  for (const Groups& each : groups) {
    const int count = each.count * units;
    if (each.gpus <= node_gpus) {
      const int a_node = node_gpus / each.gpus;
      nodes += (count + a_node - 1) / a_node;
    } else {
      nodes += count * ((each.gpus + node_gpus - 1) / node_gpus);
    }
  }
  return nodes > 1 ? fmt::format("{}-{}x{}", gpu, node_gpus, nodes)
                   : fmt::format("{}-{}", gpu, node_gpus);
}

std::vector<std::string> CandidateKeys::deployment(int units) const {
  std::vector<std::string> keys;
  if (const std::string name = cluster_name(units); !name.empty())
    keys.push_back(assignment("cluster.name", name));
  keys.insert(keys.end(), fixed.begin(), fixed.end());
  for (const auto& [key, count] : replicas)
    keys.push_back(fmt::format("{}={}", key, count * units));
  return keys;
}

void PlanRequests::add_window(double begin, double end, std::vector<std::string>& keys) const {
  const Seconds from = traffic_.recorded_begin, length = traffic_.recorded_end - from;
  keys.push_back(fmt::format("workload.window=[\"{}\", \"{}\"]", exact_text(from + length * begin),
                             exact_text(from + length * end)));
}

/// One unit's share: the same traffic, thinned by slowing it down.
void PlanRequests::add_unit_traffic(const PlanProbe& probe, std::vector<std::string>& keys) const {
  const double load = probe.load / probe.units;
  const auto count = static_cast<double>(traffic_.count);
  const double kept = std::min(1.0, unit_requests / count);
  keys.push_back(assignment("workload.rate_scale", traffic_.rate_scale * load));
  const Seconds span = traffic_.span * kept / load;
  if (traffic_.is_recorded) {
    // 0, 2, 4, 1, 3: the first two lie apart.
    const double place = (probe.replication * 2) % windows / double{windows - 1};
    add_window((1 - kept) * place, (1 - kept) * place + kept, keys);
    if (traffic_.duration) keys.push_back(assignment("workload.duration", exact_text(span)));
  } else {
    if (kept < 1) keys.push_back(fmt::format("workload.requests={:.0f}", unit_requests));
    if (traffic_.duration)
      keys.push_back(assignment("workload.duration", exact_text(*traffic_.duration / load)));
    if (probe.replication > 0)
      keys.push_back(fmt::format("run.seed={}", run_.seed + static_cast<unsigned>(probe.replication)));
  }
  const Seconds warmup = std::max(run_.warmup, span * unit_warmup);
  keys.push_back(assignment("run.warmup", exact_text(warmup)));
}

void PlanRequests::add_fleet_traffic(const PlanProbe& probe,
                                     std::vector<std::string>& keys) const {
  const double speed = probe.load * probe.slowdown;
  if (probe.kind == PlanProbe::Kind::part) {
    const double part = 1.0 / trace_parts;
    add_window(part * probe.replication, part * (probe.replication + 1), keys);
    const Seconds warmup = traffic_.span * part * part_warmup / speed;
    keys.push_back(assignment("run.warmup", exact_text(warmup)));
  } else if (probe.replication > 0) {
    keys.push_back(fmt::format("run.seed={}", run_.seed + static_cast<unsigned>(probe.replication)));
  }
  if (speed != 1) {
    keys.push_back(assignment("workload.rate_scale", traffic_.rate_scale * speed));
    if (traffic_.duration)
      keys.push_back(assignment("workload.duration", exact_text(*traffic_.duration / speed)));
    if (run_.horizon) keys.push_back(assignment("run.horizon", exact_text(*run_.horizon / speed)));
    if (probe.kind != PlanProbe::Kind::part && run_.warmup > Seconds(0.0))
      keys.push_back(assignment("run.warmup", exact_text(run_.warmup / speed)));
  }
  if (probe.slowdown == 1) return;
  const auto tighten = [&](const char* key, const std::optional<Seconds>& target) {
    if (target) keys.push_back(assignment(key, exact_text(*target / probe.slowdown)));
  };
  tighten("slo.ttft", slo_.ttft);
  tighten("slo.tpot", slo_.tpot);
  tighten("slo.e2e", slo_.e2e);
}

RunRequest PlanRequests::request(const PlanProbe& probe) const {
  const int units = probe.kind == PlanProbe::Kind::unit ? 1 : probe.units;
  RunRequest request{candidates_[probe.candidate].deployment(units)};
  if (probe.kind == PlanProbe::Kind::unit) {
    add_unit_traffic(probe, request.overrides);
  } else {
    add_fleet_traffic(probe, request.overrides);
  }
  return request;
}

Replications PlanRequests::of_fleet(Replications wanted) const {
  return traffic_.is_recorded ? Replications{1, 1} : wanted;
}

std::vector<PlanProbe> PlanRequests::spread(std::size_t candidate, int units,
                                            Replications wanted) const {
  std::vector<PlanProbe> probes;
  const int count = traffic_.is_recorded ? trace_parts : wanted.most;
  for (int i = 0; i < count; ++i) {
    probes.push_back(
        {.candidate = candidate,
         .kind = traffic_.is_recorded ? PlanProbe::Kind::part : PlanProbe::Kind::fleet,
         .units = units,
         .replication = i});
  }
  return probes;
}

}  // namespace foretoken
