#include "sim/planner/plan/model_mix.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace foretoken {
namespace {

/// A choice that holds, as far as a mix is concerned.
struct Option {
  std::size_t candidate = 0;
  double dollars = 0;
  int gpus = 0;
};

struct Mix {
  std::vector<std::size_t> candidates;  // by model
  double dollars = 0;
  int gpus = 0;
};

bool is_own(const LayoutChoice& axis) { return axis.key.starts_with("pool."); }

/// The values that all models have to agree on.
std::vector<std::string> common_values(const Plan& plan, std::size_t candidate) {
  std::vector<std::string> values;
  for (std::size_t axis = 0; axis < plan.space.axes.size(); ++axis) {
    if (!is_own(plan.space.axes[axis]))
      values.push_back(plan.space.candidates[candidate].values[axis]);
  }
  return values;
}

/// Those for which no other takes neither more money nor more GPUs.
std::vector<Option> worthwhile(std::vector<Option> options) {
  std::ranges::stable_sort(options, {},
                           [](const Option& one) { return std::pair(one.dollars, one.gpus); });
  std::vector<Option> kept;
  for (const Option& one : options)
    if (kept.empty() || one.gpus < kept.back().gpus) kept.push_back(one);
  return kept;
}

std::vector<Option> options_of(const Plan& plan, const std::vector<std::string>& common) {
  std::vector<Option> options;
  for (const std::size_t i : plan.holding()) {
    if (common_values(plan, i) != common) continue;
    const PlanCandidate& candidate = plan.space.candidates[i];
    const int units = plan.result.candidates[i].units;
    options.push_back({i, candidate.dollars_per_hour(units), units * candidate.unit_gpus});
  }
  return worthwhile(std::move(options));
}

/// Every mix within `gpus_max`, model by model.
std::vector<Mix> mixes_of(const std::vector<ModelPlan>& models,
                          const std::vector<std::string>& common, int gpus_max) {
  std::vector<Mix> mixes = {Mix()};
  for (const ModelPlan& model : models) {
    std::vector<Mix> longer;
    for (const Mix& mix : mixes) {
      for (const Option& option : options_of(model.plan, common)) {
        if (mix.gpus + option.gpus > gpus_max) continue;
        Mix& next = longer.emplace_back(mix);
        next.candidates.push_back(option.candidate);
        next.dollars += option.dollars;
        next.gpus += option.gpus;
      }
    }
    mixes = std::move(longer);
  }
  return mixes;
}

/// On as few nodes as hold all of them, unless whole nodes are paid for: then each model has its
/// own.
void share_nodes(const std::vector<ModelPlan>& models, const LoadScenario& load,
                 CandidateKeys& keys) {
  if (keys.gpu.empty() || models.front().plan.settings.pay == PlanPay::nodes) return;
  int gpus = 0, nodes_max = 0;
  for (const CandidateKeys::Groups& each : keys.groups) {
    gpus += each.gpus * each.count;
    nodes_max += nodes_of_groups(each.gpus, each.count, keys.node_gpus);
  }
  CandidateKeys fewer = keys;
  for (int nodes = (gpus + keys.node_gpus - 1) / keys.node_gpus; nodes < nodes_max; ++nodes) {
    fewer.groups = {{keys.node_gpus, nodes}};
    if (!find_room(fewer, load)) continue;
    keys = fewer;
    return;
  }
}

CandidateKeys together(const std::vector<ModelPlan>& models,
                       const std::vector<std::size_t>& candidates, const std::vector<int>& units) {
  CandidateKeys all;
  for (std::size_t model = 0; model < models.size(); ++model) {
    const PlanSpace& space = models[model].plan.space;
    const CandidateKeys& keys = space.keys[candidates[model]];
    all.cluster = keys.cluster;
    all.gpu = keys.gpu;
    all.node_gpus = keys.node_gpus;
    for (CandidateKeys::Groups groups : keys.groups) {
      groups.count *= units[model];
      all.groups.push_back(groups);
    }
    for (auto [key, count] : keys.replicas) all.replicas.emplace_back(key, count * units[model]);
    const auto stands = [&](const Changes& in, const Change& one) {
      return std::ranges::find(in, one.key, &Change::key) != in.end();
    };
    for (const Change& change : keys.fixed) {
      const bool is_of_its_plan = stands(models[model].plan.settings.common, change);
      if (!is_of_its_plan && !stands(all.fixed, change)) all.fixed.push_back(change);
    }
  }
  return all;
}

}  // namespace

std::optional<std::vector<std::size_t>> cheapest_mix(const std::vector<ModelPlan>& models,
                                                     int gpus_max, const LoadScenario& load) {
  std::vector<std::vector<std::string>> commons;
  for (const std::size_t i : models.front().plan.holding()) {
    std::vector<std::string> common = common_values(models.front().plan, i);
    if (std::ranges::find(commons, common) == commons.end()) commons.push_back(std::move(common));
  }
  std::vector<Mix> mixes;
  for (const std::vector<std::string>& common : commons)
    std::ranges::move(mixes_of(models, common, gpus_max), std::back_inserter(mixes));
  std::ranges::stable_sort(mixes, {},
                           [](const Mix& mix) { return std::pair(mix.dollars, mix.gpus); });
  for (const Mix& mix : mixes) {
    std::vector<int> units;
    for (std::size_t model = 0; model < models.size(); ++model)
      units.push_back(models[model].plan.result.candidates[mix.candidates[model]].units);
    if (find_room(together(models, mix.candidates, units), load)) return mix.candidates;
  }
  return std::nullopt;
}

CandidateKeys keys_together(const std::vector<ModelPlan>& models, const LoadScenario& load) {
  std::vector<std::size_t> candidates;
  std::vector<int> units;
  for (const ModelPlan& model : models) {
    candidates.push_back(model.candidate);
    units.push_back(model.units);
  }
  CandidateKeys keys = together(models, candidates, units);
  share_nodes(models, load, keys);
  return keys;
}

bool find_room(const CandidateKeys& keys, const LoadScenario& load) {
  try {
    (void)load(keys.deployment(1));
    return true;
  } catch (const ConfigError&) {
    return false;
  }
}

}  // namespace foretoken
