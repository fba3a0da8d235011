#include "sim/deployments/launched_scenario.hpp"

#include <algorithm>

#include "sim/deployments/server_tables.hpp"
#include "sim/scenario/recorded_names.hpp"

namespace foretoken {
namespace {

std::string launch_name(const Value& model) {
  return std::get<std::string>(model.find("name")->data);
}

std::string cluster_for(const LaunchedDeployment& deployment,
                        const std::vector<ServerTables>& servers) {
  int gpus = 0;
  std::string product;
  for (std::size_t i = 0; i < servers.size(); ++i) {
    gpus += servers[i].gpus * servers[i].replicas;
    if (!deployment.servers[i].gpu.empty()) product = deployment.servers[i].gpu;
  }
  const SourcePosition& position = deployment.servers.front().position;
  if (product.empty()) {
    throw ConfigError(position,
                      fmt::format("the GPUs of these servers are unknown; name the cluster, as "
                                  "with --cluster h100-sxm-{} (`foretoken cluster list`)",
                                  gpus));
  }
  std::ranges::replace(product, '-', ' ');
  return cluster_called(gpu_called(product, position), gpus, position);
}

/// Names of pools: letters, digits and dashes, each once.
std::string pool_name(const LaunchedDeployment& deployment,
                      const std::vector<ServerTables>& servers, std::size_t server) {
  std::string name = deployment.servers[server].name;
  std::erase_if(name, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-' && c != '_';
  });
  if (name.empty() && servers[server].role != PoolRole::both)
    name = std::string(enum_name(servers[server].role));
  if (name.empty()) name = "server";
  for (std::size_t i = 0; i < server; ++i) {
    if (deployment.servers[i].name == deployment.servers[server].name &&
        servers[i].role == servers[server].role)
      return fmt::format("{}_{}", name, server + 1);
  }
  return name;
}

/// Beside servers that only compute a model's prompts, its others go on.
void settle_roles(std::vector<ServerTables>& servers) {
  for (const ServerTables& prefill : servers) {
    if (prefill.role != PoolRole::prefill) continue;
    for (ServerTables& server : servers) {
      const bool is_same = launch_name(server.model) == launch_name(prefill.model);
      if (is_same && server.role == PoolRole::both) server.role = PoolRole::decode;
    }
  }
}

Value pool_tables(const LaunchedDeployment& deployment, const std::vector<ServerTables>& servers) {
  Value pools;
  for (std::size_t i = 0; i < servers.size(); ++i) {
    Value pool;
    pool.set("role", std::string(enum_name(servers[i].role)));
    for (const auto& [key, value] : std::get<ValueObject>(servers[i].layout.data))
      pool.set(key, value);
    pool.set("engine", servers[i].engine);
    if (launch_name(servers[i].model) != launch_name(servers[0].model))
      pool.set("model", servers[i].model);
    pools.set(pool_name(deployment, servers, i), std::move(pool));
  }
  return pools;
}

/// [deployment] of several kinds of servers. What is done about KV caches that do not come is up to
/// those that wait for them.
Value deployment_table(const LaunchedDeployment& deployment,
                       const std::vector<ServerTables>& servers, std::vector<std::string>& notes) {
  std::optional<KvLoadFailure> told;
  for (std::size_t i = 0; i < servers.size(); ++i) {
    if (servers[i].role != PoolRole::decode) continue;
    const KvLoadFailure own = servers[i].kv_load_failure.value_or(KvLoadFailure::fail);
    if (told.value_or(own) != own) {
      notes.push_back(fmt::format(
          "decode servers differ in kv_load_failure_policy, but a scenario has one: {}'s {} is "
          "ignored",
          deployment.servers[i].name.empty() ? "the last one" : deployment.servers[i].name,
          enum_name(own)));
      continue;
    }
    told = own;
  }
  Value table = ValueObject{};
  if (told && *told != KvLoadFailure::fail)
    table.set("kv_load_failure", std::string(enum_name(*told)));
  return table;
}

/// Each once, in the servers' order.
std::vector<std::string> models_of(const std::vector<ServerTables>& servers) {
  std::vector<std::string> models;
  for (const ServerTables& server : servers) {
    std::string name = launch_name(server.model);
    if (std::ranges::find(models, name) == models.end()) models.push_back(std::move(name));
  }
  return models;
}

void note_gpus(const LaunchedServer& server, const ServerTables& tables,
               std::vector<std::string>& notes) {
  if (server.gpus == 0 || server.gpus * server.nodes == tables.gpus) return;
  notes.push_back(fmt::format("{} is given {} GPUs, but its flags use {}",
                              server.name.empty() ? "the server" : server.name,
                              server.gpus * server.nodes, tables.gpus));
}

}  // namespace

LaunchedScenario launched_scenario(const LaunchedDeployment& deployment, const std::string& model,
                                   const std::string& cluster) {
  FORETOKEN_CHECK(!deployment.servers.empty(), "a deployment without servers");
  LaunchedScenario out;
  out.notes = deployment.notes;
  std::vector<ServerTables> servers;
  for (const LaunchedServer& server : deployment.servers) {
    servers.push_back(server_tables(server, model));
    ServerTables& tables = servers.back();
    std::ranges::move(tables.flags, std::back_inserter(out.flags));
    for (std::string& note : tables.notes) {
      if (std::ranges::find(out.notes, note) == out.notes.end()) out.notes.push_back(note);
    }
    note_gpus(server, tables, out.notes);
  }
  out.models = models_of(servers);
  settle_roles(servers);
  out.tables.set("model", servers.front().model);
  Value table;
  Value name(cluster.empty() ? cluster_for(deployment, servers) : cluster);
  if (!cluster.empty()) name.position = {"--cluster"};
  table.set("name", std::move(name));
  out.tables.set("cluster", std::move(table));
  if (servers.size() == 1 && servers.front().role == PoolRole::both) {
    out.tables.set("deployment", servers.front().layout);
    out.tables.set("engine", servers.front().engine);
  } else {
    Value shared = deployment_table(deployment, servers, out.notes);
    if (!std::get<ValueObject>(shared.data).empty()) out.tables.set("deployment", shared);
    out.tables.set("pool", pool_tables(deployment, servers));
  }
  return out;
}

}  // namespace foretoken
