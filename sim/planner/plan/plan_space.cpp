#include "sim/planner/plan/plan_space.hpp"

#include <algorithm>

#include "sim/base/nearest_name.hpp"
#include "sim/planner/choice_complaints.hpp"
#include "sim/scenario/replica_count.hpp"

namespace foretoken {
namespace {

std::string messages_of(const ConfigError& error) {
  std::string text;
  for (const Diagnostic& diagnostic : error.diagnostics())
    text += (text.empty() ? "" : "; ") + diagnostic.message;
  std::ranges::replace(text, '\n', ' ');
  return text;
}

class SpaceBuilder {
 public:
  SpaceBuilder(const PlanSettings& settings, const LoadScenario& load, PlanSizing sizing,
               bool wants_bounds)
      : settings_(settings), load_(load), sizing_(sizing), wants_bounds_(wants_bounds) {}

  PlanSpace build() {
    if (!settings_.gpus.empty()) {
      if (sizing_ == PlanSizing::cluster) {
        throw ConfigError({"plan.gpus"},
                          "the highest load needs a cluster of fixed size; name clusters = "
                          "[\"h200-sxm-8\"] instead of gpus");
      }
      space_.axes.push_back({"gpu", "GPU", settings_.gpus});
    } else if (!settings_.clusters.empty()) {
      space_.axes.push_back(
          {"cluster.name", "cluster", settings_.clusters, {}, settings_.cluster_positions});
    }
    const bool chooses_hardware = !space_.axes.empty();
    if (sizing_ == PlanSizing::fleet && !settings_.usual_tensor.empty())
      space_.axes.push_back({"deployment.tensor_parallel", "TP", settings_.usual_tensor});
    space_.axes.insert(space_.axes.end(), settings_.axes.begin(), settings_.axes.end());
    ChoiceComplaints complaints(space_.axes);
    for (const Layout& layout : combinations(space_.axes)) {
      PlanCandidate candidate;
      CandidateKeys keys;
      candidate.values = layout.values;
      read_choice(layout, chooses_hardware, keys);
      try {
        add(keys, candidate);
        complaints.accept(layout);
      } catch (const ConfigError& error) {
        candidate.impossible = messages_of(error);
        complaints.refuse(layout, error);
      } catch (const PredictionError& error) {
        candidate.impossible = std::string("cannot be priced: ") + error.what();
      }
      if (candidate.hardware.empty() && chooses_hardware)
        candidate.hardware = layout.values.front();
      space_.candidates.push_back(std::move(candidate));
      space_.keys.push_back(std::move(keys));
    }
    complaints.throw_if_any();
    check_prices();
    return std::move(space_);
  }

 private:
  /// The keys of the choice itself; the pools' ratio is a number of replicas.
  void read_choice(const Layout& layout, bool chooses_hardware, CandidateKeys& keys) const {
    keys.fixed = settings_.common;
    for (std::size_t i = 0; i < space_.axes.size(); ++i) {
      if (i == 0 && chooses_hardware) {
        (settings_.gpus.empty() ? keys.cluster : keys.gpu) = layout.values[i];
        continue;
      }
      const LayoutChoice& axis = space_.axes[i];
      const RunRequest request = Layout{{layout.values[i]}}.request({axis});
      if (axis.parts.empty()) {
        keys.fixed.push_back(request.changes.front());
        continue;
      }
      for (std::size_t p = 0; p < axis.parts.size(); ++p) {
        keys.replicas.emplace_back(axis.parts[p], std::stoi(request.changes[p].value_text()));
      }
    }
  }

  /// One unit on hardware that surely has room for it.
  [[nodiscard]] Scenario load_unit(const CandidateKeys& keys, const std::string& model = "") const {
    Changes changes;
    if (!model.empty()) changes.emplace_back("run.only_model", model);
    if (!keys.gpu.empty()) {
      const int nodes = (settings_.gpus_max + keys.node_gpus - 1) / keys.node_gpus + 1;
      changes.emplace_back("cluster.name",
                           fmt::format("{}-{}x{}", keys.gpu, keys.node_gpus, nodes));
    } else if (!keys.cluster.empty()) {
      changes.emplace_back("cluster.name", keys.cluster);
    }
    changes.insert(changes.end(), keys.fixed.begin(), keys.fixed.end());
    for (const auto& [key, count] : keys.replicas) changes.emplace_back(key, count);
    if (keys.replicas.empty() && !settings_.names_replicas)
      changes.emplace_back("deployment.replicas", 1);
    return load_(changes);
  }

  void add(CandidateKeys& keys, PlanCandidate& candidate) {
    if (!keys.gpu.empty()) {
      // As many as the largest usual chassis has, up to the whole cluster.
      keys.node_gpus = usual_cluster(load_gpu(keys.gpu, {"plan.gpus"}), 1 << 12).node.gpus;
    }
    const Scenario scenario = load_unit(keys);
    check_plan_question(scenario);
    const std::vector<PoolSpec> pools = pools_of(scenario);
    size(scenario, pools, keys, candidate);
    for (const PoolSpec& pool : pools) {
      const GpuSpec& gpu = pool.scenario.cluster.gpu;
      if (candidate.hardware.find(gpu.name) == std::string::npos)
        candidate.hardware += (candidate.hardware.empty() ? "" : " + ") + gpu.name;
    }
    if (space_.traffic.count == 0) {
      space_.traffic = sample_traffic(scenario);
      space_.slo = scenario.slo;
      space_.run = scenario.run;
      space_.fixed_layout = fixed_layout_of(scenario);
      const bool is_one = space_.traffic.models.empty();
      space_.model = is_one ? scenario.model.name
                            : fmt::format("{}", fmt::join(served_models(scenario), ", "));
      if (is_one && !is_axis("model.dtype"))
        space_.model += fmt::format(" in {}", enum_name(scenario.execution.dtype));
      if (!is_axis("engine.preset")) space_.engine = scenario.engine.preset;
    }
    space_.predictor = scenario.predictor.name;
    if (!wants_bounds_) return;
    candidate.bounds = bounds_of(scenario, keys);
    // They are of one replica; a unit may be all that a cluster holds.
    if (scenario.pools.empty()) candidate.bounds.units /= keys.replicas.front().second;
  }

  [[nodiscard]] LoadBounds bounds_of(const Scenario& scenario, const CandidateKeys& keys) const {
    const auto of = [&](const Scenario& unit, const TrafficSample& traffic) {
      return load_bounds(
          unit, traffic, settings_.latency + "_ms",
          [&](const Scenario& replica) { return step_times(replica, predictors_); }, judged_load());
    };
    if (space_.traffic.models.empty()) return of(scenario, space_.traffic);
    std::vector<LoadBounds> models;
    for (const ModelShare& model : space_.traffic.models) {
      const Scenario own = load_unit(keys, model.name);
      models.push_back(of(own, sample_traffic(own)));
    }
    return worst_of(models);
  }

  /// The one load that fleets are asked about; that of a cluster is searched for.
  [[nodiscard]] std::optional<double> judged_load() const {
    return sizing_ == PlanSizing::fleet ? std::optional(1 + settings_.margin) : std::nullopt;
  }

  [[nodiscard]] bool is_axis(std::string_view key) const {
    return std::ranges::find(space_.axes, key, &LayoutChoice::key) != space_.axes.end();
  }

  /// "PP 1" and so on, of what is no choice.
  [[nodiscard]] std::string fixed_layout_of(const Scenario& scenario) const {
    if (scenario.pools.size() > 1) return "layouts of the pools";
    const PoolSpec pool = pools_of(scenario).front();
    const std::string table =
        pool.name.empty() ? std::string("deployment.") : "pool." + pool.name + ".";
    const ParallelLayout& layout = pool.scenario.deployment.layout;
    std::string text;
    const auto add = [&](const char* key, const char* label, int value) {
      if (is_axis(table + key)) return;
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", label, value);
    };
    add("tensor_parallel", "TP", layout.tensor);
    add("pipeline_parallel", "PP", layout.pipeline);
    if (layout.data_parallel_attention > 1)
      add("data_parallel_attention", "DP", layout.data_parallel_attention);
    if (layout.expert > 1) add("expert_parallel", "EP", layout.expert);
    return text;
  }

  void size(const Scenario& scenario, const std::vector<PoolSpec>& pools, CandidateKeys& keys,
            PlanCandidate& candidate) {
    const bool is_cluster = sizing_ == PlanSizing::cluster;
    candidate.unit_gpus = 0;
    candidate.pays_nodes = settings_.pay == PlanPay::nodes;
    const bool has_pools = !scenario.pools.empty();
    keys.replicas.clear();
    for (const PoolSpec& pool : pools) {
      const Deployment& deployment = pool.scenario.deployment;
      const std::string key =
          has_pools ? "pool." + pool.name + ".replicas" : std::string("deployment.replicas");
      int count = has_pools || (is_cluster && settings_.names_replicas) ? deployment.replicas : 1;
      if (!has_pools && is_cluster && !settings_.names_replicas)
        count = std::max(1, replicas_that_fit(scenario.cluster, deployment.layout));
      keys.replicas.emplace_back(key, count);
      std::erase_if(keys.fixed, [&](const Change& change) { return change.key == key; });
      const ParallelLayout& layout = deployment.layout;
      const int groups = layout.pipeline * layout.groups() * count;
      add_groups(pool.scenario.cluster, layout.tensor, groups, keys, candidate);
      if (layout.expert_gpus > 0) {
        add_groups(pool.scenario.cluster.seen_from(deployment.expert_group), 1,
                   layout.expert_gpus * count, keys, candidate);
      }
    }
    candidate.units_max = 1;
    if (is_cluster) return;
    candidate.units_max =
        std::min(settings_.replicas_max, settings_.gpus_max / candidate.unit_gpus);
    if (keys.gpu.empty()) candidate.units_max = units_that_fit(scenario, keys, candidate);
    if (candidate.units_max < 1) {
      throw ConfigError({"plan.gpus_max"}, fmt::format("one takes {} GPUs; at most {} allowed",
                                                       candidate.unit_gpus, settings_.gpus_max));
    }
  }

  /// Groups of `gpus` each on the nodes that `cluster` is seen from.
  void add_groups(const ClusterSpec& cluster, int gpus, int groups, CandidateKeys& keys,
                  PlanCandidate& candidate) {
    const auto price = price_of(cluster.gpu);
    keys.groups.push_back({gpus, groups});
    candidate.groups.push_back({gpus, groups, cluster.node.gpus, price});
    candidate.unit_gpus += gpus * groups;
    candidate.add_gpus(cluster.gpu.name, gpus * groups);
    candidate.unit_dollars_per_hour += price * (gpus * groups);
  }

  /// Of as many as are allowed, those that a cluster of its own size has room for. Pools share
  /// nodes or stand on groups of them: whoever loads a scenario knows.
  [[nodiscard]] int units_that_fit(const Scenario& scenario, const CandidateKeys& keys,
                                   const PlanCandidate& candidate) const {
    if (scenario.pools.empty()) {
      return std::min(candidate.units_max,
                      replicas_that_fit(scenario.cluster, scenario.deployment.layout,
                                        scenario.deployment.node_group));
    }
    const auto fits = [&](int units) {
      try {
        load_(keys.deployment(units));
        return true;
      } catch (const ConfigError&) {
        return false;
      }
    };
    int held = 1, too_many = candidate.units_max + 1;
    while (held + 1 < too_many) {
      const int units = held + (too_many - held) / 2;
      (fits(units) ? held : too_many) = units;
    }
    return held;
  }

  double price_of(const GpuSpec& gpu) {
    const auto known = std::ranges::lower_bound(space_.prices, gpu.name, {}, &PricedGpu::gpu);
    if (known != space_.prices.end() && known->gpu == gpu.name) return known->dollars_per_hour;
    const auto given = std::ranges::find(settings_.prices, gpu.name, &GpuPrice::gpu);
    const bool is_given = given != settings_.prices.end();
    if (is_given || gpu.price) {
      const double price = is_given ? given->price.value() : gpu.price->value();
      space_.prices.insert(known, {gpu.name, price, is_given});
      return price;
    }
    throw ConfigError({"plan.prices"}, fmt::format("{0} has no price; give [plan.prices] "
                                                   "{0} = \"2.50 USD/h\"",
                                                   gpu.name));
  }

  /// A price that no candidate pays is a slip of the pen.
  void check_prices() const {
    Diagnostics diagnostics;
    std::vector<std::string_view> names;
    for (const PricedGpu& priced : space_.prices) names.push_back(priced.gpu);
    for (const GpuPrice& price : settings_.prices) {
      if (std::ranges::find(names, price.gpu) != names.end()) continue;
      diagnostics.add(price.position,
                      "plan.prices: " + unknown_name_message("GPU of this plan", price.gpu, names));
    }
    diagnostics.throw_if_any();
  }

  const PlanSettings& settings_;
  const LoadScenario& load_;
  const Registry<PredictorFactory> predictors_ = predictor_catalog();
  PlanSizing sizing_;
  bool wants_bounds_;
  PlanSpace space_;
};

}  // namespace

PlanSpace plan_space(const PlanSettings& settings, const LoadScenario& load, PlanSizing sizing) {
  return SpaceBuilder(settings, load, sizing, true).build();
}

void check_plan_space(const PlanSettings& settings, const LoadScenario& load, PlanSizing sizing) {
  (void)SpaceBuilder(settings, load, sizing, false).build();
}

}  // namespace foretoken
