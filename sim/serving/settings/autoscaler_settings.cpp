#include "sim/serving/settings/autoscaler_settings.hpp"

#include <algorithm>

#include "sim/base/key_lists.hpp"

namespace foretoken {

const Keys<StartupSettings>& startup_keys() {
  using S = StartupSettings;
  static const Keys<S> keys = {
      {"time",
       &S::time,
       {.range = not_negative()},
       "Fixed part of a replica's start: scheduling the pod, pulling the image, importing "
       "libraries, compiling, capturing CUDA graphs. 30 s to 3 min are usual."},
      {"weights_bandwidth",
       &S::weights_bandwidth,
       {.range = above(0, "must be above 0, for example \"5 GB/s\" from a disk"),
        .fallback = "not set (weights load in no time)"},
       "Rate at which a node reads weights, shared by its GPUs; adds the time to load the model to "
       "every start. About \"5 GB/s\" from a local NVMe disk, less over a network."},
      {"peer_bandwidth",
       &S::peer_bandwidth,
       {.range = above(0, "must be above 0, for example \"40 GB/s\" over RDMA"),
        .fallback = "not set (weights come from disks)"},
       "Rate at which a node gets weights from the GPUs of a serving replica, if there is one and "
       "that is faster (SGLang's remote instance loader, Dynamo's ModelExpress). Its requests are "
       "not slowed down."},
      {"role_switch",
       &S::role_switch,
       {.range = not_negative(), .fallback = "not set (a normal start)", .quiet = true},
       "With pools that share GPUs (shares_gpus_with): time in which a replica takes over GPUs "
       "from the other pool's replica of the same model and layout, with the weights in place. 0 s "
       "where engines change roles between steps, seconds where they recapture CUDA graphs."},
      {"sleep",
       &S::sleep,
       {},
       "What remains of a replica that the autoscaler stops (vLLM's sleep mode): off, nothing; "
       "weights_on_host, its process with the weights in host memory (level 1); weights_discarded, "
       "its process only (level 2). Waking takes wake_time plus loading the weights, instead of "
       "time. GPUs of sleeping replicas are not paid for."},
      {"wake_time", &S::wake_time, {.range = not_negative()}, "With sleep: fixed part of waking."},
      {"is_cold",
       &S::is_cold,
       {},
       "Whether the replicas at time 0 must start first. If false, they are up and loaded when the "
       "first request arrives."},
  };
  return keys;
}

namespace {

/// Keys that not every policy goes by.
struct Own {
  std::string_view key;
  std::vector<ScalingPolicyKind> policies;
};

const std::vector<Own>& own_keys() {
  using enum ScalingPolicyKind;
  static const std::vector<Own> keys = {
      {"metric", {cooldown, hpa, keda}},
      {"target", {cooldown, hpa, keda}},
      {"tolerance", {cooldown, hpa, keda, wva}},
      {"cooldown_up", {cooldown}},
      {"cooldown_down", {cooldown}},
      {"window_up", {hpa, keda, wva}},
      {"window_down", {hpa, keda, wva}},
      {"up", {hpa, keda, wva}},
      {"down", {hpa, keda, wva}},
      {"polling_interval", {keda}},
      {"activation", {keda}},
      {"cooldown", {keda}},
      {"capacity", {planner}},
      {"prediction", {planner}},
      {"history", {planner}},
  };
  return keys;
}

Key<AutoscalerSettings> own(Key<AutoscalerSettings> key) {
  const std::string name = key.note().name;
  return std::move(key).written_if(
      [name](const AutoscalerSettings& settings) { return has_meaning(name, settings.policy); });
}

const Keys<ScalingRate>& rate_keys() {
  static const Keys<ScalingRate> keys = {
      {"replicas",
       &ScalingRate::replicas,
       {.range = at_least(1), .unit = "replicas"},
       "Number of replicas that may be added or removed within the period."},
      {"percent",
       &ScalingRate::percent,
       {.range = above(0), .unit = "%"},
       "Per cent of the replicas at the start of the period that may be added or removed within "
       "it."},
      {"period",
       &ScalingRate::period,
       {.range = above(0, "must be above 0 s")},
       "Time that the rule looks back over."},
  };
  return keys;
}

Key<AutoscalerSettings> rates_key(const char* name,
                                  std::vector<ScalingRate> AutoscalerSettings::*rates,
                                  const char* fallback, const char* meaning) {
  using S = AutoscalerSettings;
  return {{.name = name, .type = "list of tables", .fallback = fallback, .meaning = meaning},
          [=](TableReader& table, S& settings) {
            if (table.find(name) == nullptr) return;
            settings.*rates = read_list(
                table, name, rate_keys(),
                "write a list of rules, for example [{ replicas = 2, period = \"60 s\" }]",
                [](TableReader& one, const ScalingRate& rate, const std::vector<ScalingRate>&) {
                  one.expect("replicas", rate.replicas.has_value() != rate.percent.has_value(),
                             "or percent is what a rule says: give one of the two");
                });
          },
          [rates](const S& settings) -> std::optional<Value> {
            return list_value(settings.*rates, rate_keys());
          }};
}

}  // namespace

bool has_meaning(std::string_view key, ScalingPolicyKind policy) {
  const auto own = std::ranges::find(own_keys(), key, &Own::key);
  return own == own_keys().end() || std::ranges::find(own->policies, policy) != own->policies.end();
}

std::vector<KeyNote> scaling_rate_notes() { return rate_keys().notes(); }

AutoscalerSettings autoscaler_defaults(ScalingPolicyKind policy) {
  AutoscalerSettings settings;
  settings.policy = policy;
  if (policy != ScalingPolicyKind::wva) return settings;
  settings.window_up = settings.window_down = Seconds(120.0);
  settings.up = settings.down = {{.replicas = {}, .percent = 100.0}};
  return settings;
}

const Keys<AutoscalerSettings>& autoscaler_keys() {
  using S = AutoscalerSettings;
  static const Keys<S> keys = {
      {"policy",
       &S::policy,
       {.quiet = true},
       "Scaling policy: cooldown (metric over target, with a pause after each change), hpa "
       "(Kubernetes' Horizontal Pod Autoscaler), keda (hpa, and replicas sleep while idle), "
       "planner "
       "(predicted load over a replica's capacity, like Dynamo's) or wva (llm-d's Workload Variant "
       "Autoscaler: all pools of a model together, by cost)."},
      {"min",
       &S::min,
       {.range = at_least(0), .unit = "replicas"},
       "Minimum number of replicas; 0 only with policy keda or wva."},
      {"max",
       &S::max,
       {.unit = "replicas", .allowed = "min or more", .required = true},
       "Maximum number of replicas. The cluster must have GPUs for all of them."},
      own({"metric",
           &S::metric,
           {.fallback = "required with policy cooldown, hpa and keda"},
           "Metric held at its target: queue (requests that no step has worked on yet), "
           "outstanding (unfinished requests; in a prefill pool those not computed), utilization "
           "(running sequences as a share of sequences_max) or kv (share of KV blocks in use)."}),
      own({"target",
           &S::target,
           {.range = above(0), .fallback = "required with policy cooldown, hpa and keda"},
           "Value of the metric that one replica should have; requests for queue and outstanding, "
           "a "
           "share up to 1 for utilization and kv. The number of replicas follows metric / "
           "target."}),
      own({"tolerance",
           &S::tolerance,
           {.range = not_negative(), .quiet = true},
           "Relative deviation from the target that is tolerated."}),
      {"interval",
       &S::interval,
       {.range = at_least(1e-3, "must be at least 1 ms")},
       "Interval between checks of the load. 15 s is the default of Kubernetes; Dynamo's planner "
       "takes "
       "3 min."},
      own({"cooldown_up",
           &S::cooldown_up,
           {.range = not_negative()},
           "Shortest time from the last change to adding replicas. Raise it to ignore short "
           "bursts."}),
      own({"cooldown_down",
           &S::cooldown_down,
           {.range = not_negative()},
           "Shortest time from the last change to removing replicas. Long enough, it keeps "
           "replicas "
           "through a lull; 5 min is the default of Kubernetes."}),
      own({"window_up",
           &S::window_up,
           {.range = not_negative(), .fallback = "0 s; with policy wva 120 s, as in llm-d's guide"},
           "Replicas are added only as far as every check within this time asked for "
           "(stabilizationWindowSeconds)."}),
      own({"window_down",
           &S::window_down,
           {.range = not_negative(), .fallback = "300 s; with policy wva 120 s"},
           "Replicas are removed only as far as no check within this time asked for more."}),
      own(rates_key("up", &S::up, "4 replicas or 100 % in 15 s; with policy wva 100 % in 15 s",
                    "How fast replicas may be added: [[autoscaler.up]]. The most permissive of "
                    "several rules applies.")),
      own(rates_key("down", &S::down, "100 % in 15 s",
                    "How fast replicas may be removed: [[autoscaler.down]].")),
      own({"polling_interval",
           &S::polling_interval,
           {.range = at_least(1e-3, "must be at least 1 ms")},
           "Interval between checks whether replicas sleep or wake."}),
      own({"activation",
           &S::activation,
           {.range = not_negative()},
           "Replicas wake when the metric of all is above it."}),
      own({"cooldown",
           &S::cooldown,
           {.range = not_negative()},
           "With min = 0: how long the metric must be at activation or below before the last "
           "replica is put to sleep."}),
      own({"capacity",
           &S::capacity,
           {.range = above(0, "must be above 0"), .fallback = "required with policy planner"},
           "Tokens per second that one replica sustains within its targets, as a load test or "
           "foretoken plan --max-load finds: prompt tokens where it prefills, output tokens where "
           "it decodes, both where it does both."}),
      own({"prediction",
           &S::prediction,
           {},
           "Predicted load of the next interval: constant (that of the last) or trend (linear "
           "extrapolation of the last ones)."}),
      own({"history",
           &S::history,
           {.range = at_least(2), .unit = "looks"},
           "Checks that the trend is fitted to."}),
  };
  return keys;
}

}  // namespace foretoken
