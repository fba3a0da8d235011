#include "sim/planner/plan/model_plans.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "sim/planner/plan/model_mix.hpp"
#include "sim/planner/plan/plan_metrics.hpp"
#include "sim/report/number_text.hpp"

namespace foretoken {
namespace {

bool is_of_pool(const std::string& key, const PoolSpec& pool) {
  return key.starts_with("pool." + pool.name + ".");
}

/// Sizes of tensor parallelism of a model's only pool, where nobody says which.
void add_usual_tensor(const PoolSpec& pool, PlanSettings& settings) {
  const ParallelLayout& layout = pool.scenario.deployment.layout;
  const auto key = [&](const char* name) { return fmt::format("pool.{}.{}", pool.name, name); };
  const bool is_chosen = std::ranges::any_of(settings.axes, [&](const LayoutChoice& axis) {
    return axis.key == key("tensor_parallel") || axis.key == key("data_parallel_attention") ||
           axis.key == key("expert_parallel");
  });
  if (is_chosen || layout.data_parallel_attention > 1 || layout.expert > 1) return;
  std::vector<std::string> values;
  for (const int size : std::set{1, 2, 4, 8, layout.tensor})
    values.push_back(fmt::format("{}", size));
  settings.axes.insert(settings.axes.begin(), {key("tensor_parallel"), "TP", std::move(values)});
}

class Planner {
 public:
  Planner(const PlanSettings& settings, const LoadScenario& load, ScenarioRunner& runner,
          const PlanOptions& options)
      : settings_(settings), load_(load), runner_(runner), options_(options) {}

  ModelPlans make() {
    const Scenario scenario = load_({});
    const std::vector<std::string> models = scenario.workload->models();
    for (std::size_t model = 0; model < models.size(); ++model) {
      const int number = static_cast<int>(model);
      ModelPlan& part = plans_.models.emplace_back();
      part.model = models[model];
      part.share = scenario.workload->share_of_model(number);
      part.plan =
          make_plan(settings_of_model(settings_, scenario, number), load_, runner_, options_);
      plans_.is_complete &= part.plan.result.is_complete;
      plans_.runs += part.plan.runs + part.plan.close_runs;
    }
    try {
      if (plans_.is_complete) settle();
    } catch (const PlanStopped&) {
      plans_.is_complete = false;
    }
    return std::move(plans_);
  }

 private:
  /// From the cheapest that find room to what holds under all of the traffic.
  void settle() {
    for (const ModelPlan& part : plans_.models) {
      if (part.plan.result.cheapest) continue;
      plans_.problem = fmt::format("no choice of {} meets the SLO", part.model);
      return;
    }
    const auto mix = cheapest_mix(plans_.models, settings_.gpus_max, load_);
    if (!mix) {
      plans_.problem = fmt::format(
          "each model has choices that meet the SLO, but they do not fit together: the cheapest "
          "take {}; {} are allowed ([plan] gpus_max and the cluster's)",
          counted(cheapest_gpus(), "GPU"), settings_.gpus_max);
      return;
    }
    for (std::size_t i = 0; i < mix->size(); ++i) {
      plans_.models[i].candidate = (*mix)[i];
      plans_.models[i].units = plans_.models[i].plan.result.candidates[(*mix)[i]].units;
    }
    while (!holds_together()) {
      if (!plans_.problem.empty()) return;
    }
  }

  [[nodiscard]] int cheapest_gpus() const {
    int gpus = 0;
    for (const ModelPlan& part : plans_.models) {
      const std::size_t i = *part.plan.result.cheapest;
      gpus += part.plan.result.candidates[i].units * part.plan.space.candidates[i].unit_gpus;
    }
    return gpus;
  }

  /// Runs all; a model that misses its SLO takes another unit, or there is no answer.
  bool holds_together() {
    const CandidateKeys keys = keys_together(plans_.models, load_);
    const Scenario all = load_(keys.deployment(1));
    const PlanRequests requests({keys}, sample_traffic(all), all.slo, all.run);
    const PlanProbe probe = {.kind = PlanProbe::Kind::whole, .load = 1 + settings_.margin};
    PlanRuns runs(
        runner_, [&](const PlanProbe& asked) { return requests.requests(asked); },
        [](std::size_t) {}, options_.store);
    const RunOutcome& outcome = *runs.run({probe}).front();
    plans_.runs += runs.made();
    if (outcome.status != RunStatus::ran) {
      plans_.problem = outcome.message;
      return false;
    }
    ModelPlan* missing = nullptr;
    for (ModelPlan& part : plans_.models) {
      const auto group = std::ranges::find(outcome.report.models, part.model, &RequestGroup::name);
      FORETOKEN_CHECK(group != outcome.report.models.end(), "a report without model {}",
                      part.model);
      part.attainment = group->attainment;
      if (part.attainment < all.slo.percentile / 100) missing = &part;
    }
    if (missing != nullptr) {
      grow(*missing);
      return false;
    }
    plans_.run = requests.whole_run(probe);
    return true;
  }

  void grow(ModelPlan& part) {
    ++part.units;
    const bool is_allowed = part.units <= part.plan.space.candidates[part.candidate].units_max &&
                            plans_.gpus() <= settings_.gpus_max &&
                            find_room(keys_together(plans_.models, load_), load_);
    if (is_allowed) return;
    plans_.problem = fmt::format(
        "{} meets the SLO alone but misses it with the others, and there is no room for more",
        part.model);
  }

  const PlanSettings& settings_;
  const LoadScenario& load_;
  ScenarioRunner& runner_;
  const PlanOptions& options_;
  ModelPlans plans_;
};

}  // namespace

int ModelPlans::gpus() const {
  int sum = 0;
  for (const ModelPlan& part : models) sum += part.gpus();
  return sum;
}

double ModelPlans::dollars_per_hour() const {
  double sum = 0;
  for (const ModelPlan& part : models) sum += part.dollars_per_hour();
  return sum;
}

PlanSettings settings_of_model(const PlanSettings& settings, const Scenario& scenario, int model) {
  PlanSettings own = settings;
  own.wants_front = true;  // which has the choice of fewest GPUs, too
  std::vector<const PoolSpec*> pools;
  for (const PoolSpec& pool : scenario.pools) {
    if (pool.model == model) {
      pools.push_back(&pool);
    } else {
      std::erase_if(own.axes, [&](const LayoutChoice& axis) { return is_of_pool(axis.key, pool); });
    }
  }
  for (const LayoutChoice& axis : own.axes) {
    if (axis.parts.empty()) continue;
    throw ConfigError(
        axis.positions.empty() ? SourcePosition{"plan.pools"} : axis.positions.front(),
        "plan.pools: pools of several models have no ratio; choose each pool's, as "
        "[plan.vary.pool.NAME] replicas = [1, 2]");
  }
  own.common.emplace_back("run.only_model", scenario.workload->models()[model]);
  if (pools.size() == 1) {
    own.common.emplace_back(fmt::format("pool.{}.replicas", pools.front()->name), 1);
    add_usual_tensor(*pools.front(), own);
  }
  return own;
}

ModelPlans make_model_plans(const PlanSettings& settings, const LoadScenario& load,
                            ScenarioRunner& runner, const PlanOptions& options) {
  return Planner(settings, load, runner, options).make();
}

}  // namespace foretoken
