#include "sim/deployments/exportable.hpp"

namespace foretoken {

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
  if (!hands_over(scenario)) return;
  const std::int64_t local = deployment.handoff.local_prefill_max;
  notes.push_back(
      "a router in front has to send prompts to the prefill servers first "
      "(Dynamo's and llm-d's do)" +
      (local > 0 ? fmt::format(", those of up to {} tokens only to the decode servers", local)
                 : ""));
}

}  // namespace foretoken
