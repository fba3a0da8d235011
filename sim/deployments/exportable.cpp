#include "sim/deployments/exportable.hpp"

namespace foretoken {
namespace {

/// No server that is exported has a flag for it.
void append_swapping(const Scenario& scenario, std::vector<std::string>& notes) {
  for (const PoolSpec& pool : pools_of(scenario)) {
    if (pool.scenario.engine.preemption != Preemption::swap) continue;
    notes.push_back(fmt::format("{}: preemption = \"swap\" is not exported: the server recomputes",
                                pool.name.empty() ? "llm" : pool.name));
  }
}

}  // namespace

void check_exportable(const Scenario& scenario) {
  for (const PoolSpec& pool : scenario.pools) {
    if (!pool.encodes()) continue;
    throw ConfigError(pool.scenario.deployment_position,
                      fmt::format("pool \"{}\" encodes images on dedicated GPUs, which exports do "
                                  "not support; remove it, or write its launch by hand",
                                  pool.name));
  }
}

void append_fleet_notes(const Scenario& scenario, std::vector<std::string>& notes) {
  if (scenario.autoscaler)
    notes.push_back(
        "the autoscaler is not exported: the replicas are those at the start of the run");
  const Deployment& deployment = scenario.deployment;
  if (deployment.router.name != "round_robin")
    notes.push_back(
        fmt::format("the router \"{}\" and its options are not exported: set up the gateway in "
                    "front of the servers",
                    deployment.router.name));
  if (served_models(scenario).size() > 1)
    notes.emplace_back(
        "a gateway in front has to send each request to the servers of the model that it names");
  if (shares_gpus(scenario.pools))
    notes.emplace_back(
        "pools that share GPUs are exported with their replicas at the start of the run; role "
        "changes are not");
  if (scenario.front_end != FrontEndSettings())
    notes.emplace_back(
        "[front_end] is not exported: the gateway in front has to limit, queue and retry requests "
        "as it says");
  append_swapping(scenario, notes);
  if (!hands_over(scenario)) return;
  if (deployment.handoff.kv_transfer == KvTransfer::layer_wise)
    notes.emplace_back(
        "kv_transfer = \"layer_wise\" is not exported: whether caches move layer by layer or after "
        "prefill is up to the servers' KV connector");
  if (deployment.handoff.retry == HandoffRetry::failed_side)
    notes.emplace_back(
        "retry = \"failed_side\" is not exported: the router in front decides what it sends again");
  const std::int64_t local = deployment.handoff.local_prefill_max;
  notes.push_back(
      "a router in front has to send prompts to the prefill servers first "
      "(Dynamo's and llm-d's do)" +
      (local > 0 ? fmt::format(", those of up to {} tokens only to the decode servers", local)
                 : ""));
}

}  // namespace foretoken
