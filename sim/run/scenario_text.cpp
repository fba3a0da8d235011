#include "sim/run/scenario_text.hpp"

#include <filesystem>
#include <optional>

#include "sim/report/number_text.hpp"

namespace foretoken {
namespace {

std::string formats_text(const ExecutionSettings& execution) {
  std::string text(enum_name(execution.dtype));
  const auto add = [&](std::string_view part, const std::optional<DType>& format) {
    if (format) text += fmt::format(", {} {}", part, enum_name(*format));
  };
  add("attention", execution.attention_dtype);
  add("experts", execution.expert_dtype);
  add("shared experts", execution.shared_expert_dtype);
  return text;
}

/// ", TP4, 2 replicas"
std::string layout_text(const Scenario& scenario) {
  const ParallelLayout& layout = scenario.deployment.layout;
  std::string text;
  if (layout.tensor > 1) text += fmt::format(", TP{}", layout.tensor);
  if (layout.pipeline > 1) text += fmt::format(", PP{}", layout.pipeline);
  if (layout.data_parallel_attention > 1) {
    text += fmt::format(", attention DP{}", layout.data_parallel_attention);
  }
  if (layout.prefill_context > 1) text += fmt::format(", PCP{}", layout.prefill_context);
  if (layout.decode_context > 1) text += fmt::format(", DCP{}", layout.decode_context);
  if (layout.expert > 1) text += fmt::format(", EP{}", layout.expert);
  if (layout.expert_gpus > 0) text += fmt::format(", experts on {} GPUs", layout.expert_gpus);
  if (layout.redundant_experts > 0) text += fmt::format(" + {} experts", layout.redundant_experts);
  if (scenario.autoscaler) {
    text += fmt::format(", {} to {} replicas", scenario.autoscaler->min, scenario.autoscaler->max);
  } else if (scenario.deployment.replicas > 1) {
    text += fmt::format(", {} replicas", scenario.deployment.replicas);
  }
  return text;
}

/// `path` as seen from the working folder, if it is one below it.
std::optional<std::string> path_from_here(const Value* path) {
  if (path == nullptr || !path->is_string()) return std::nullopt;
  const std::filesystem::path given = std::get<std::string>(path->data);
  const std::filesystem::path relative = given.lexically_relative(std::filesystem::current_path());
  if (!given.is_absolute() || relative.empty() || *relative.begin() == "..") return std::nullopt;
  return relative.generic_string();
}

}  // namespace

namespace {

/// "16 x NVIDIA H100 SXM", those of experts of another kind by themselves.
std::string gpus_text(const Scenario& scenario) {
  const Deployment& deployment = scenario.deployment;
  const std::string& title = scenario.cluster.gpu.title;
  if (deployment.expert_group == deployment.node_group)
    return fmt::format("{} x {}", gpus_of(scenario), title);
  const int replicas = replicas_max(scenario);
  return fmt::format("{} x {} and {} x {}", deployment.layout.attention_ranks() * replicas, title,
                     deployment.layout.expert_gpus * replicas, expert_gpu(scenario).title);
}

}  // namespace

int gpus_of(const Scenario& pool) { return pool.deployment.layout.ranks() * replicas_max(pool); }

std::string run_title(const Scenario& scenario) {
  std::string model =
      fmt::format("{} ({}) on", scenario.model.title, formats_text(scenario.execution));
  const bool has_models = served_models(scenario).size() > 1;
  if (has_models) model = fmt::format("{} models on", served_models(scenario).size());
  if (scenario.pools.empty()) {
    return fmt::format("{} {}{}", model, gpus_text(scenario), layout_text(scenario));
  }
  std::string pools;
  for (const PoolSpec& pool : scenario.pools) {
    const std::string its_model = has_models ? fmt::format(" ({} {})", pool.scenario.model.title,
                                                           formats_text(pool.scenario.execution))
                                             : "";
    const bool shares = !pool.scenario.deployment.shares_gpus_with.empty();
    pools += fmt::format("{} {}{} on {}{}{}", pools.empty() ? "" : ";", pool.name, its_model,
                         shares ? "the same " : "", counted(gpus_of(pool.scenario), "GPU"),
                         layout_text(pool.scenario));
  }
  return fmt::format("{} {}:{}", model, scenario.cluster.name, pools);
}

Value scenario_seen_from_here(const Scenario& scenario) {
  Value root = resolved_scenario(scenario);
  for (const auto& [table_name, key] : {std::pair{"model", "name"},
                                        {"cluster", "name"},
                                        {"engine", "preset"},
                                        {"workload", "trace"}}) {
    const Value* found = root.find(table_name);  // pools have engines of their own
    const auto path = path_from_here(found == nullptr ? nullptr : found->find(key));
    if (!path) continue;
    Value table = *found;
    table.set(key, *path);
    root.set(table_name, std::move(table));
  }
  const Value* engine = root.find("engine");
  const Value* speculative = engine == nullptr ? nullptr : engine->find("speculative");
  const auto draft = path_from_here(speculative == nullptr ? nullptr : speculative->find("model"));
  if (draft) {
    Value table = *speculative, with_draft = *engine;
    table.set("model", *draft);
    with_draft.set("speculative", std::move(table));
    root.set("engine", std::move(with_draft));
  }
  return root;
}

}  // namespace foretoken
