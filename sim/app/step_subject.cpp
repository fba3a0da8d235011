#include "sim/app/step_subject.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "kernels/communication/communication_price.hpp"
#include "kernels/communication/engine_all_reduce.hpp"
#include "kernels/estimators/in_step_predictor.hpp"
#include "sim/app/model_warnings.hpp"
#include "sim/prices/scenario_prices.hpp"
#include "sim/run/run.hpp"
#include "sim/scenario/tables.hpp"
#include "workloads/kv_format.hpp"

namespace foretoken {
namespace {

template <class Enum>
Enum parse_option(const std::string& text, const char* option) {
  if (const auto value = parse_enum<Enum>(text)) return *value;
  const auto& names = EnumNames<Enum>::names;
  throw ConfigError({option}, unknown_name_message("value", text, {names.begin(), names.end()}));
}

ClusterSpec cluster_of(const StepOptions& options) {
  if (options.cluster.empty() == options.gpu.empty()) {
    throw ConfigError({"step"}, "needs exactly one of --gpu and --cluster");
  }
  if (!options.cluster.empty()) return load_cluster(options.cluster, {"--cluster"});
  return usual_cluster(load_gpu(options.gpu, {"--gpu"}), options.layout.ranks());
}

/// Who drafts, checked as in a scenario.
std::optional<SpeculativeSettings> speculation_of(const StepOptions& options,
                                                  const StepSubject& subject) {
  if (options.speculate.empty() || options.drafts == 0) return std::nullopt;
  Scenario scenario;
  scenario.model = subject.model;
  scenario.execution = subject.execution;
  scenario.deployment.layout = subject.layout;
  scenario.engine.batch_tokens_max = std::numeric_limits<std::int64_t>::max();
  Value table;
  table.position = {"step"};
  const auto set = [&](const char* key, Value value, const char* option) {
    value.position = {option};
    table.set(key, std::move(value));
  };
  set("method", options.speculate, "--speculate");
  set("drafts", options.drafts, "--drafts");
  set("acceptance", 1.0, "--drafts");
  if (!options.draft_model.empty()) set("model", options.draft_model, "--draft-model");
  if (options.draft_tensor > 0) set("tensor_parallel", options.draft_tensor, "--draft-tp");
  Diagnostics diagnostics;
  read_speculative_table(TableReader(table, diagnostics, "step"), {}, scenario);
  diagnostics.throw_if_any();
  return scenario.engine.speculative;
}

/// Which algorithm all-reduces must be one that there is.
void check_all_reduce(const std::string& name) {
  if (!is_all_reduce_name(name)) {
    throw ConfigError({"--all-reduce"},
                      unknown_name_message("algorithm", name, all_reduce_names()));
  }
}

/// What the engine whose kernels run does when no flag says otherwise.
ExpertExchange usual_exchange(Framework framework, const ClusterSpec& cluster,
                              const ParallelLayout& layout) {
  Scenario scenario;
  scenario.deployment.layout = layout;
  for (const std::string& preset_name : engine_preset_names()) {
    const EnginePreset preset = load_engine_preset(preset_name, {});
    const std::vector<PresetSetting> settings = preset.settings(cluster.gpu, layout);
    const auto own = std::ranges::find(settings, "framework", &PresetSetting::key);
    const auto* name = own == settings.end() ? nullptr : std::get_if<std::string>(&own->value.data);
    if (name == nullptr || *name != enum_name(framework)) continue;
    Diagnostics diagnostics;
    read_engines_layout(preset, nullptr, diagnostics, scenario);
    diagnostics.throw_if_any();
    break;
  }
  return scenario.execution.expert_exchange;
}

ExpertExchange exchange_of(const StepOptions& options, const StepSubject& subject) {
  const Framework framework = subject.execution.implementation.framework;
  if (options.expert_exchange == "auto")
    return usual_exchange(framework, subject.cluster, subject.layout);
  const auto exchange = parse_option<ExpertExchange>(options.expert_exchange, "--expert-exchange");
  if (exchange == ExpertExchange::deepep && subject.layout.expert != subject.layout.stage_ranks()) {
    throw ConfigError({"--expert-exchange"},
                      fmt::format("deepep needs whole experts on every rank; use --ep {}",
                                  subject.layout.stage_ranks()));
  }
  return exchange;
}

StepSubject subject_of_options(const StepOptions& options) {
  if (options.model.empty()) throw ConfigError({"step"}, "needs --model, or --scenario");
  StepSubject subject;
  subject.model_name = options.model;
  subject.model = load_model(options.model, {"--model"});
  warn_of_left_out(subject.model);
  subject.layout = options.layout;
  subject.host_us = options.host_us;
  ExecutionSettings& execution = subject.execution;
  execution.set_formats(subject.model.released.value_or(WeightFormats()));
  if (!options.dtype.empty()) {
    execution.set_formats(parse_option<DType>(options.dtype, "--dtype"));
  }
  if (!options.expert_dtype.empty()) {
    execution.expert_dtype = parse_option<DType>(options.expert_dtype, "--expert-dtype");
  }
  execution.kv_dtype = options.kv_dtype.empty()
                           ? activation_dtype(execution.dtype)
                           : parse_option<DType>(options.kv_dtype, "--kv-dtype");
  execution.block_tokens = options.block_tokens;
  execution.implementation.framework = parse_option<Framework>(options.framework, "--framework");
  execution.implementation.is_cold = !options.warm;
  execution.sampling = parse_option<SamplingMethod>(options.sampling, "--sampling");
  execution.routing = parse_routing(options.routing, {"--routing"});
  Diagnostics diagnostics;
  check_layout(subject.model, subject.layout, {"step"}, diagnostics);
  diagnostics.throw_if_any();
  subject.cluster = cluster_of(options);
  if (const std::string problem = kv_format_problem(execution.kv_dtype, subject.cluster.gpu);
      !problem.empty()) {
    throw ConfigError({"--kv-dtype"}, problem);
  }
  execution.expert_exchange = exchange_of(options, subject);
  check_all_reduce(options.all_reduce);
  subject.comm = {subject.cluster.comm,
                  engine_all_reduce(options.all_reduce, execution.implementation.framework, "")};
  const auto fallback = parse_option<CommFallback>(options.fallback, "--communication-fallback");
  if (parse_option<CommSource>(options.communication, "--communication") == CommSource::measured) {
    subject.comm.measured =
        measured_prices(subject.cluster, execution.implementation.framework, fallback);
  }
  subject.predictor =
      in_step(make_predictor(Catalogs().predictors, options.predictor, {"--predictor"}));
  subject.speculation = speculation_of(options, subject);
  subject.drafts = options.drafts;
  return subject;
}

StepSubject subject_of_scenario(const StepOptions& options) {
  const Scenario scenario = load_scenario(options.scenario, parse_changes(options.overrides));
  StepSubject subject{scenario.model_name,
                      scenario.model,
                      scenario.deployment.layout,
                      scenario.execution,
                      scenario.cluster,
                      communication_of(scenario),
                      step_predictor(scenario, predictor_catalog()),
                      scenario.engine.host.gap.value() * 1e6,
                      scenario.engine.speculative,
                      scenario.engine.speculative ? scenario.engine.speculative->drafts : 0};
  if (subject.speculation) subject.host_us += subject.speculation->host_time.value() * 1e6;
  subject.host_us *= stretch_of(scenario, "host");
  return subject;
}

}  // namespace

StepSubject step_subject(const StepOptions& options) {
  return options.scenario.empty() ? subject_of_options(options) : subject_of_scenario(options);
}

}  // namespace foretoken
