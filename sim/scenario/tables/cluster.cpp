#include "sim/scenario/tables.hpp"

namespace foretoken {
namespace {

/// [cluster.scale]: factors by the name of what they scale.
void read_scale(TableReader& cluster, Scenario& scenario) {
  const Value* factors = cluster.find_table("scale");
  if (factors == nullptr) return;
  TableReader table(*factors, cluster.diagnostics(), "cluster.scale");
  for (const auto& [name, value] : std::get<ValueObject>(factors->data)) {
    double factor = 1;
    if (table.read(name, factor)) scenario.cluster_scale.emplace_back(name, factor);
  }
}

std::optional<Value> scale_value(const Scenario& scenario) {
  if (scenario.cluster_scale.empty()) return std::nullopt;
  Value factors;
  for (const auto& [name, factor] : scenario.cluster_scale) factors.set(name, factor);
  return factors;
}

const Keys<Scenario>& cluster_keys() {
  static const Keys<Scenario> keys = {
      {"name",
       &Scenario::cluster_name,
       {.allowed = "a cluster's or GPU's name or path", .required = true},
       "Machines that serve (foretoken cluster list): GPUs, nodes and network."},
      {"power_cap",
       [](auto& s) -> decltype(auto) { return (s.power.cap); },
       {.range = above(0, "must be above 0 W"),
        .unit = "500 W",
        .fallback = "the board's limit",
        .quiet = true},
       "Power limit of each GPU below its board's (nvidia-smi --power-limit): clocks drop until "
       "GEMMs stay within it. Prefill takes longer; decode, bound by memory, hardly does."},
      {"idle_power",
       [](auto& s) -> decltype(auto) { return (s.power.idle); },
       {.range = not_negative(),
        .unit = "130 W",
        .fallback = "19 % of the board's limit",
        .quiet = true},
       "Power of a GPU while no step runs, for the energy in the report."},
      {"host_power",
       [](auto& s) -> decltype(auto) { return (s.power.host); },
       {.range = not_negative(), .unit = "2 kW", .fallback = "0 W (not counted)", .quiet = true},
       "Power of a node without its GPUs (CPUs, memory, network cards, fans), for the energy in "
       "the report. A DGX H100 may draw 10.2 kW, of which its GPUs draw 5.6 kW."},
      {"network",
       &Scenario::network,
       {.quiet = true},
       "How collectives and sends are simulated: auto (as flows where other traffic may share "
       "their links, otherwise by price), memoised (always by price), flows (always as flows) or "
       "every_flow (flows step by step; slow, to check the others)."},
      {{.name = "scale",
        .type = "table of numbers",
        .fallback = "not set",
        .allowed = "0.01 to 100",
        .meaning = fmt::format("Factors on hardware properties, to study parts that do not exist: "
                               "{{ dram_bandwidth = 1.25 }}. Names: {}.",
                               fmt::join(scalable_quantities(), ", "))},
       read_scale,
       scale_value},
  };
  return keys;
}

void scale(const Value* factors, TableReader& table, Scenario& scenario) {
  for (const ScaledQuantity& scaled : scenario.cluster_scale) {
    const Value* factor = factors->find(scaled.first);
    table.diagnostics().attempt([&] { scale_cluster(scenario.cluster, scaled, factor->position); });
  }
}

/// A cap is the board's limit as prices know it: the clocks that it leaves follow from that.
void cap_power(TableReader& table, Scenario& scenario) {
  PowerSettings& power = scenario.power;
  power.uncapped = scenario.cluster.gpu.power;
  if (!(power.cap > Watts(0.0))) return;
  constexpr double least = 0.25;  // of the board's limit; drivers take no less
  const auto cap = [&](GpuSpec& gpu) {
    table.expect("power_cap", gpu.power > Watts(0.0),
                 fmt::format("GPU '{}' has no power limit to lower", gpu.name));
    table.expect(
        "power_cap", power.cap <= gpu.power && power.cap >= least * gpu.power,
        fmt::format("is {:.0f} W, and {} can be limited from {:.0f} to {:.0f} W", power.cap.value(),
                    gpu.name, least * gpu.power.value(), gpu.power.value()));
    gpu.power = power.cap;
  };
  cap(scenario.cluster.gpu);
  for (NodeGroup& group : scenario.cluster.groups) cap(group.gpu);
}

}  // namespace

void read_cluster_table(TableReader table, const ScenarioOptions& options, Scenario& scenario) {
  cluster_keys().read(table, scenario);
  if (!scenario.cluster_name.empty()) {
    scenario.cluster_position = table.position("name");
    scenario.cluster_name = resolve_path(scenario.cluster_name, scenario.cluster_position, options);
    const bool is_known = table.diagnostics().attempt(
        [&] { scenario.cluster = load_cluster(scenario.cluster_name, scenario.cluster_position); });
    if (is_known) {
      scale(table.find("scale"), table, scenario);
      cap_power(table, scenario);
    }
  }
  finish(table);
}

Value resolved_cluster_table(const Scenario& scenario) { return cluster_keys().table(scenario); }

KeyTable cluster_key_table() {
  return {"cluster", "", "Hardware that serves.", cluster_keys().notes()};
}

}  // namespace foretoken
