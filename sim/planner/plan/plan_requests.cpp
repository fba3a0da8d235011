#include "sim/planner/plan/plan_requests.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>

#include "sim/base/unit_text.hpp"

namespace foretoken {
namespace {

// Requests of a run of one unit: enough for a 99th percentile, a tenth of a long trace.
constexpr int unit_requests = 2000;
constexpr double unit_warmup = 0.1;  // share of such a run that is not counted
constexpr int windows = 5;           // of a trace, spread over it
constexpr int trace_parts = 4;       // that a fleet's figures are compared over
constexpr double part_warmup = 0.05;
// A look at how quick a deployment is beside another, under the same requests: medians of so many
// differ by a few per cent less than the deployments that it rules out.
constexpr std::int64_t look_requests = 250;
constexpr std::int64_t look_parts = 4;  // of all requests a look takes no more than one of these

// Traffic of more requests is sampled: some seconds of a processor for a run are too many for a
// search. A sample is large enough for the 99th percentile (120 requests may miss it), its windows
// for queues to build up.
constexpr std::int64_t whole_requests_max = 16'000;
constexpr int sample_parts = 8;
constexpr double sample_part_requests = 1500;
constexpr double sample_warmup = 0.1;
// What a sample really holds differs from what is guessed of it by less than this.
constexpr double sample_slack = 1.2;

}  // namespace

std::string CandidateKeys::cluster_name(int units) const {
  if (gpu.empty()) return cluster;
  int nodes = 0;
  for (const Groups& each : groups)
    nodes += nodes_of_groups(each.gpus, each.count * units, node_gpus);
  return nodes > 1 ? fmt::format("{}-{}x{}", gpu, node_gpus, nodes)
                   : fmt::format("{}-{}", gpu, node_gpus);
}

Changes CandidateKeys::deployment(int units) const {
  Changes keys;
  if (const std::string name = cluster_name(units); !name.empty())
    keys.emplace_back("cluster.name", name);
  keys.insert(keys.end(), fixed.begin(), fixed.end());
  for (const auto& [key, count] : replicas) keys.emplace_back(key, count * units);
  return keys;
}

/// All of the traffic in less time, or more: whatever is a time of it is divided.
void PlanRequests::add_speed(double speed, Changes& keys) const {
  if (speed == 1) return;
  keys.emplace_back("workload.rate_scale", traffic_.rate_scale * speed);
  const auto add = [&](const char* key, const std::optional<Seconds>& time) {
    if (time) keys.emplace_back(key, exact_text(*time / speed));
  };
  add("workload.duration", traffic_.duration);
  add("workload.diurnal.period", traffic_.diurnal_period);
  add("workload.diurnal.peak", traffic_.diurnal_peak);
  add("run.horizon", run_.horizon);
  if (run_.warmup > Seconds(0.0)) add("run.warmup", run_.warmup);
}

/// `warmup`: share of the window.
void PlanRequests::add_window(const Window& window, double speed, double warmup,
                              Changes& keys) const {
  // The last arrival belongs to the last window.
  const Seconds whole = traffic_.last * (1 + 1e-9) / speed;
  keys.emplace_back("workload.part",
                    ValueArray{exact_text(whole * window.begin), exact_text(whole * window.end)});
  const Seconds length = whole * (window.end - window.begin);
  keys.emplace_back("run.warmup", exact_text(length * warmup));
}

void PlanRequests::add_seed(int replication, Changes& keys) const {
  if (replication == 0 || traffic_.is_recorded) return;
  keys.emplace_back("run.seed", static_cast<std::int64_t>(run_.seed) + replication);
}

void PlanRequests::add_count(std::int64_t count, Changes& keys) const {
  const double counted = std::ceil(static_cast<double>(count) / traffic_.share);
  keys.emplace_back("workload.requests", static_cast<std::int64_t>(counted));
}

void PlanRequests::add_targets(double slowdown, Changes& keys) const {
  if (slowdown == 1) return;
  const auto tighten = [&](const char* key, const std::optional<Seconds>& target) {
    if (target) keys.emplace_back(key, exact_text(*target / slowdown));
  };
  tighten("slo.ttft", slo_.ttft);
  tighten("slo.tpot", slo_.tpot);
  tighten("slo.e2e", slo_.e2e);
  if (slo_.classes.empty()) return;
  std::vector<SloTargets::Class> classes = slo_.classes;
  for (SloTargets::Class& one : classes)
    for (std::optional<Seconds>* target : {&one.ttft, &one.tpot, &one.e2e})
      if (*target) **target = **target / slowdown;
  keys.emplace_back("slo.classes", slo_classes_value(classes));
}

/// One unit's share: the same traffic, thinned by slowing it down.
void PlanRequests::add_unit_traffic(const PlanProbe& probe, Changes& keys) const {
  const double speed = probe.load / probe.units;
  const auto count = static_cast<double>(traffic_.count);
  const double kept = std::min(1.0, unit_requests / count);
  add_speed(speed, keys);
  add_seed(probe.replication, keys);
  if (is_sampled())
    return add_window(sample_windows(probe.replication).front(), speed, sample_warmup, keys);
  if (kept < 1 && traffic_.is_recorded) {
    // 0, 2, 4, 1, 3: the first two lie apart.
    const double place = (probe.replication * 2) % windows / double{windows - 1};
    return add_window({(1 - kept) * place, (1 - kept) * place + kept}, speed, unit_warmup, keys);
  }
  if (kept < 1) add_count(unit_requests, keys);
  const Seconds warmup = std::max(run_.warmup / speed, traffic_.span * kept / speed * unit_warmup);
  keys.emplace_back("run.warmup", exact_text(warmup));
}

/// The first of the requests, or those of a recorded trace's busiest part. A sample's first run is
/// one already.
std::vector<RunRequest> PlanRequests::look(const PlanProbe& probe) const {
  if (is_sampled()) return {sample(probe).front()};
  std::vector<RunRequest> asked = {{candidates_[probe.candidate].deployment(probe.units)}};
  Changes& keys = asked.front().changes;
  add_speed(probe.load, keys);
  const std::int64_t count = std::max(look_requests, traffic_.count / (2 * look_parts));
  if (!traffic_.is_recorded) {
    add_count(count, keys);
    return asked;
  }
  const double length = static_cast<double>(count) / static_cast<double>(traffic_.count);
  Window busiest;
  for (int i = 0; i < look_parts; ++i) {
    const double begin = i * (1 - length) / (look_parts - 1);
    const Window window = {begin, begin + length};
    if (i == 0 || arrivals_in(window) > arrivals_in(busiest)) busiest = window;
  }
  add_window(busiest, probe.load, part_warmup, keys);
  return asked;
}

std::optional<double> PlanRequests::looks_allow() const {
  const bool warms_up_shortly = run_.warmup * (4 * look_parts) < traffic_.span;
  const bool are_firsts = warms_up_shortly && !traffic_.duration;
  if (!traffic_.is_all || run_.horizon || traffic_.count < look_parts * look_requests ||
      !(traffic_.is_recorded || are_firsts))
    return std::nullopt;
  const auto asked = requests({});
  return static_cast<double>(asked.front().misses_max.value_or(traffic_.count));
}

bool PlanRequests::is_sampled() const { return traffic_.count > whole_requests_max; }

double PlanRequests::arrivals_in(const Window& window) const {
  return traffic_.arrivals.between(traffic_.last * window.begin, traffic_.last * window.end);
}

/// Of equal lengths, one in each stretch of the traffic, the busiest first. Other replications look
/// elsewhere in each stretch.
std::vector<PlanRequests::Window> PlanRequests::sample_windows(int replication) const {
  const double length =
      std::min(1.0 / sample_parts, sample_part_requests / static_cast<double>(traffic_.count));
  const double place = std::fmod(0.5 + replication * (std::numbers::phi - 1), 1.0);
  std::vector<Window> chosen;
  for (int i = 0; i < sample_parts; ++i) {
    const double begin = (i + place) / sample_parts - place * length;
    chosen.push_back({begin, begin + length});
  }
  std::ranges::stable_sort(chosen, std::greater(),
                           [&](const Window& window) { return arrivals_in(window); });
  return chosen;
}

std::int64_t PlanRequests::misses_max(double requests) const {
  constexpr double rounding = 1e-6;
  return static_cast<std::int64_t>(std::floor((1 - slo_.percentile / 100) * requests + rounding));
}

std::vector<RunRequest> PlanRequests::sample(const PlanProbe& probe) const {
  const double speed = probe.load * probe.slowdown;
  std::vector<RunRequest> asked;
  double requests = 0;
  for (const Window& window : sample_windows(probe.replication)) {
    RunRequest& request =
        asked.emplace_back(RunRequest{candidates_[probe.candidate].deployment(probe.units)});
    add_speed(speed, request.changes);
    add_window(window, speed, sample_warmup, request.changes);
    add_seed(probe.replication, request.changes);
    add_targets(probe.slowdown, request.changes);
    requests += arrivals_in(window);
  }
  for (RunRequest& request : asked) request.misses_max = misses_max(sample_slack * requests);
  return asked;
}

Changes PlanRequests::whole_run(const PlanProbe& probe) const {
  Changes keys = candidates_[probe.candidate].deployment(probe.units);
  add_speed(probe.load * probe.slowdown, keys);
  add_seed(probe.replication, keys);
  add_targets(probe.slowdown, keys);
  return keys;
}

std::vector<RunRequest> PlanRequests::requests(const PlanProbe& probe) const {
  std::vector<RunRequest> asked;
  if (probe.kind == PlanProbe::Kind::fleet && is_sampled()) {
    asked = sample(probe);
  } else if (probe.kind == PlanProbe::Kind::fleet || probe.kind == PlanProbe::Kind::whole) {
    asked.push_back({whole_run(probe)});
    if (traffic_.is_all) asked.front().misses_max = misses_max(static_cast<double>(traffic_.count));
  } else if (probe.kind == PlanProbe::Kind::look) {
    asked = look(probe);
  } else if (probe.kind == PlanProbe::Kind::unit) {
    asked.push_back({candidates_[probe.candidate].deployment(1)});
    add_unit_traffic(probe, asked.front().changes);
  } else {
    const double speed = probe.load * probe.slowdown, part = 1.0 / trace_parts;
    asked.push_back({candidates_[probe.candidate].deployment(probe.units)});
    add_speed(speed, asked.front().changes);
    add_window({part * probe.replication, part * (probe.replication + 1)}, speed, part_warmup,
               asked.front().changes);
    add_targets(probe.slowdown, asked.front().changes);
  }
  // Only where a miss of the first replication decides, and nobody wants the figures of a failure.
  // Misses of several models together say nothing of each.
  const bool decides = probe.replication == 0 && probe.slowdown == 1 && traffic_.models.empty();
  for (RunRequest& request : asked) {
    if (!decides) request.misses_max = std::nullopt;
    request.changes.emplace_back("run.intervals", "none");
  }
  return asked;
}

Replications PlanRequests::of_fleet(Replications wanted) const {
  return traffic_.is_recorded && !is_sampled() ? Replications{1, 1} : wanted;
}

std::vector<PlanProbe> PlanRequests::spread(const PlanProbe& fleet, int replications) const {
  const bool by_parts = traffic_.is_recorded && !is_sampled();
  std::vector<PlanProbe> probes;
  for (int i = 0; i < (by_parts ? trace_parts : replications); ++i) {
    probes.push_back(fleet);
    if (by_parts) probes.back().kind = PlanProbe::Kind::part;
    probes.back().replication = i;
  }
  return probes;
}

}  // namespace foretoken
