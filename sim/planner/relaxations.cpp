#include "sim/planner/relaxations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "hardware/cluster_scale.hpp"
#include "sim/scenario/replica_count.hpp"

namespace foretoken {
namespace {

constexpr double more = 1.25, half = 0.5;
constexpr double no_cpu_time = 1e6;  // host_speed: a microsecond becomes a picosecond
constexpr int chassis_gpus = 8;      // that a server is extended to before there is a second one

class Relaxations {
 public:
  Relaxations(const Scenario& scenario, const std::vector<std::int64_t>& kv_blocks)
      : scenario_(scenario), pools_(pools_of(scenario)), kv_blocks_(kv_blocks) {}

  std::vector<RelaxedRun> list() {
    add_hardware();
    add_host();
    add_memory();
    add_replicas();
    add_engine();
    return std::move(runs_);
  }

 private:
  void add(std::string what, Changes changes) {
    runs_.push_back({std::move(what), std::move(changes), std::nullopt});
  }

  template <class Condition>
  [[nodiscard]] bool any_pool(const Condition& condition) const {
    return std::ranges::any_of(pools_,
                               [&](const PoolSpec& pool) { return condition(pool.scenario); });
  }

  void add_scaled(const char* what, const char* quantity, double factor) {
    ClusterSpec scaled = scenario_.cluster;
    try {
      scale_cluster(scaled, {quantity, factor}, {});
    } catch (const ConfigError&) {
      return;  // this cluster has none
    }
    double before = 1;
    for (const auto& [name, by] : scenario_.cluster_scale) {
      if (name == quantity) before = by;
    }
    add(what, {{fmt::format("cluster.scale.{}", quantity), before * factor}});
  }

  void add_hardware() {
    add_scaled("25 % more DRAM bandwidth", "dram_bandwidth", more);
    add_scaled("25 % faster tensor cores", "tensor_rate", more);
    add_scaled("25 % more L2 bandwidth", "l2_bandwidth", more);
    add_scaled("half the launch latency", "launch_latency", half);
    const bool communicates = hands_over(scenario_) || any_pool([](const Scenario& pool) {
                                return pool.deployment.layout.ranks() > 1;
                              });
    const bool copies =
        any_pool([](const Scenario& pool) { return pool.engine.host_kv > Bytes(0.0); });
    const bool is_pcie = scenario_.cluster.node.link == NodeLink::pcie;
    if (communicates && !is_pcie) add_scaled("25 % faster NVLink", "nvlink_bandwidth", more);
    if (copies || (communicates && is_pcie)) {
      add_scaled("25 % faster PCIe", "pcie_bandwidth", more);
      add_scaled("25 % faster PCIe switches", "pcie_switch_bandwidth", more);
      add_scaled("25 % faster host bridges", "host_bandwidth", more);
      add_scaled("25 % faster links between sockets", "socket_bandwidth", more);
    }
    if (!communicates) return;
    add_scaled("half the latency between GPUs", "link_latency", half);
    if (scenario_.cluster.nodes == 1) return;
    add_scaled("25 % faster network cards", "nic_bandwidth", more);
    add_scaled("25 % more between network switches", "uplink_bandwidth", more);
  }

  void add_host() {
    const auto takes_cpu = [](const Scenario& pool) { return !pool.engine.host.is_free(); };
    if (any_pool(takes_cpu)) {
      add("no CPU time", {{"engine.host_speed", no_cpu_time}, {"engine.host_time", "0 s"}});
    }
    const auto takes_front_end = [](const Scenario& pool) {
      const HostSettings& host = pool.engine.host;
      return host.front_end_request + host.front_end_token + host.front_end_output > Seconds(0.0);
    };
    if (any_pool(takes_front_end)) {
      add("no front-end time", {{"engine.front_end_request", "0 s"},
                                {"engine.front_end_token", "0 s"},
                                {"engine.front_end_output", "0 s"}});
    }
  }

  /// As the scenario itself calls the key: engines have names of their own for it.
  [[nodiscard]] std::string engine_key(std::string_view key) const {
    for (const auto& [plain, written] : pools_.front().scenario.engine.scheduler.written_as) {
      if (plain == key) return "engine." + written;
    }
    return fmt::format("engine.{}", key);
  }

  void add_memory() {
    FORETOKEN_CHECK(kv_blocks_.size() == pools_.size(), "KV blocks of {} pools, there are {}",
                    kv_blocks_.size(), pools_.size());
    Changes changes;
    for (std::size_t i = 0; i < pools_.size(); ++i) {
      const std::int64_t ranks = pools_[i].scenario.deployment.layout.data_parallel_attention;
      const std::int64_t twice = 2 * kv_blocks_[i] / ranks;
      const std::string& name = pools_[i].name;
      changes.emplace_back(
          name.empty() ? engine_key("kv_blocks") : fmt::format("pool.{}.engine.kv_blocks", name),
          twice);
    }
    add("twice the KV memory", std::move(changes));
  }

  void add_replicas() {
    for (const PoolSpec& pool : pools_) {
      if (pool.scenario.autoscaler) continue;  // their number is not the scenario's to say
      const int wanted = pool.scenario.deployment.replicas + 1;
      if (!pool.name.empty()) {
        add(fmt::format("one more replica of {}", pool.name),
            {{fmt::format("pool.{}.replicas", pool.name), wanted}});
        continue;
      }
      Changes changes = {{"deployment.replicas", wanted}};
      const std::optional<std::string> larger = cluster_for(wanted);
      if (!larger) continue;
      if (*larger != scenario_.cluster_name) changes.emplace_back("cluster.name", *larger);
      add("one more replica", std::move(changes));
    }
  }

  /// The cluster, or more of the same by name; nullopt: it has no name that says how many.
  [[nodiscard]] std::optional<std::string> cluster_for(int replicas) const {
    const ParallelLayout& layout = scenario_.deployment.layout;
    const std::string& name = scenario_.cluster_name;
    if (replicas_that_fit(scenario_.cluster, layout) >= replicas) return name;
    const std::size_t dash = name.rfind('-');
    if (dash == std::string::npos) return std::nullopt;
    int gpus = 0, nodes = 1;
    const char* end = name.data() + name.size();
    auto [at, error] = std::from_chars(name.data() + dash + 1, end, gpus);
    if (error == std::errc() && at != end && *at == 'x') {
      const auto read = std::from_chars(at + 1, end, nodes);
      at = read.ptr;
      error = read.ec;
    }
    if (error != std::errc() || at != end || gpus < 1) return std::nullopt;
    for (int tries = 0; tries < 2 * chassis_gpus; ++tries) {
      (nodes == 1 && gpus < chassis_gpus ? gpus : nodes) += 1;
      const std::string larger = nodes == 1
                                     ? fmt::format("{}-{}", name.substr(0, dash), gpus)
                                     : fmt::format("{}-{}x{}", name.substr(0, dash), gpus, nodes);
      try {
        if (replicas_that_fit(load_cluster(larger, {}), layout) >= replicas) return larger;
      } catch (const ConfigError&) {
        return std::nullopt;
      }
    }
    return std::nullopt;
  }

  /// The limits of all pools are those of the first, unless a pool has its own.
  void add_engine() {
    const EngineSettings& engine = pools_.front().scenario.engine;
    const std::string budget = engine_key("batch_tokens_max");
    const std::int64_t tokens = engine.batch_tokens_max;
    if (tokens / 2 >= engine.sequences_max) {
      add(fmt::format("half the step token budget ({})", tokens / 2), {{budget, tokens / 2}});
    }
    add(fmt::format("twice the step token budget ({})", 2 * tokens), {{budget, 2 * tokens}});
    const std::int64_t sequences = 2 * std::int64_t{engine.sequences_max};
    Changes changes = {{engine_key("sequences_max"), sequences}};
    if (sequences > tokens) changes.emplace_back(budget, sequences);
    add(fmt::format("twice the sequences per step ({})", sequences), std::move(changes));
    const std::string caching = engine_key("prefix_caching");
    if (!engine.prefix_caching && caching == "engine.prefix_caching") {
      add("prefix caching", {{caching, true}});
    }
  }

  const Scenario& scenario_;
  std::vector<PoolSpec> pools_;
  const std::vector<std::int64_t>& kv_blocks_;
  std::vector<RelaxedRun> runs_;
};

}  // namespace

std::vector<RelaxedRun> relaxations(const Scenario& scenario,
                                    const std::vector<std::int64_t>& kv_blocks) {
  return Relaxations(scenario, kv_blocks).list();
}

}  // namespace foretoken
