#include "sim/app/step_subject.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "kernels/communication/communication_price.hpp"
#include "kernels/communication/engine_all_reduce.hpp"
#include "kernels/estimators/in_step_predictor.hpp"
#include "sim/app/model_warnings.hpp"
#include "sim/base/nearest_name.hpp"
#include "sim/prices/scenario_prices.hpp"
#include "sim/run/run.hpp"
#include "sim/scenario/engine_choices.hpp"
#include "sim/scenario/tables.hpp"
#include "workloads/kv_format.hpp"
#include "workloads/state_format.hpp"

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

void check_expert_gpus(const StepOptions& options) {
  if (options.layout.expert_gpus == 0) return;
  if (options.expert_exchange != "auto") {
    throw ConfigError({"--expert-exchange"},
                      "applies to experts on the attention GPUs; omit it with --expert-gpus");
  }
  if (!options.speculate.empty() || options.adapters > 0 || !options.images.empty() ||
      !options.audio.empty()) {
    throw ConfigError({"--expert-gpus"},
                      "cannot be combined with --speculate, --adapters, --images or --audio, which "
                      "are not modelled with it");
  }
}

SettledExchange exchange_asked(const StepOptions& options, const StepSubject& subject) {
  if (!is_exchange_name(options.expert_exchange)) {
    throw ConfigError({"--expert-exchange"},
                      unknown_name_message("way", options.expert_exchange, exchange_names()));
  }
  const ExchangeSite site = exchange_site(subject.model, subject.layout, subject.cluster.gpu);
  const SettledExchange settled = settle_exchange(
      options.expert_exchange, {subject.execution.implementation.framework, ""}, site);
  if (settled.exchange.needs_whole_experts() && !site.has_whole_experts) {
    throw ConfigError({"--expert-exchange"},
                      fmt::format("{} needs whole experts on every rank; use --ep {}",
                                  options.expert_exchange, site.ranks));
  }
  return settled;
}

StepSubject subject_of_options(const StepOptions& options) {
  if (options.model.empty()) throw ConfigError({"step"}, "needs --model, or --scenario");
  StepSubject subject;
  subject.model_name = options.model;
  subject.model = load_model(options.model, {"--model"});
  warn_of_left_out(subject.model);
  subject.layout = options.layout;
  subject.layout.encoder_by_data = options.encoder_by_data;
  subject.host_us = options.host_us;
  ExecutionSettings& execution = subject.execution;
  execution.set_formats(subject.model.released.value_or(WeightFormats()));
  if (!options.dtype.empty()) {
    execution.set_formats(parse_option<DType>(options.dtype, "--dtype"));
  }
  if (!options.expert_dtype.empty()) {
    execution.expert_dtype = parse_option<DType>(options.expert_dtype, "--expert-dtype");
  }
  execution.kv_dtype = activation_dtype(execution.dtype);
  if (options.dtype.empty() && subject.model.kv_released) {
    execution.kv_dtype = *subject.model.kv_released;
  }
  if (!options.kv_dtype.empty()) {
    execution.kv_dtype = parse_option<DType>(options.kv_dtype, "--kv-dtype");
  }
  execution.block_tokens = options.block_tokens;
  execution.expert_micro_batches = options.expert_micro_batches;
  execution.implementation.framework = parse_option<Framework>(options.framework, "--framework");
  execution.implementation.is_cold = !options.warm;
  settle_state_dtype(subject.model, execution.implementation.framework);
  execution.sampling = parse_option<SamplingMethod>(options.sampling, "--sampling");
  execution.routing = parse_routing(options.routing, {"--routing"});
  if (options.adapters > 0) {
    LoraSettings& lora = execution.lora.emplace();
    lora.adapters_max = options.adapters;
    lora.rank = options.adapter_rank;
  }
  Diagnostics diagnostics;
  check_layout(subject.model, subject.layout, {"step"}, diagnostics);
  diagnostics.throw_if_any();
  subject.cluster = cluster_of(options);
  if (const std::string problem = kv_format_problem(execution.kv_dtype, subject.cluster.gpu);
      !problem.empty()) {
    throw ConfigError({"--kv-dtype"}, problem);
  }
  check_expert_gpus(options);
  subject.exchange = exchange_asked(options, subject);
  execution.expert_exchange = subject.exchange.exchange;
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

/// A scenario with pools has a layout and an engine for each: a step is one of theirs.
const Scenario& of_pool(const Scenario& scenario, const std::string& name) {
  std::vector<std::string_view> known;
  for (const PoolSpec& pool : scenario.pools) {
    if (pool.name == name) return pool.scenario;
    known.push_back(pool.name);
  }
  if (known.empty() && name.empty()) return scenario;
  if (known.empty()) throw ConfigError({"--pool"}, "the scenario has no pools; omit it");
  if (name.empty()) {
    throw ConfigError(
        {"--scenario"},
        fmt::format("the scenario has pools; name one with --pool: {}", fmt::join(known, ", ")));
  }
  throw ConfigError({"--pool"}, unknown_name_message("pool", name, known));
}

StepSubject subject_of_scenario(const StepOptions& options) {
  const Scenario whole = load_scenario(options.scenario, parse_changes(options.overrides));
  const Scenario& scenario = of_pool(whole, options.pool);
  check_scenario(whole, Catalogs());  // a step of what simulate refuses would be nobody's
  StepSubject subject{scenario.model_name,
                      scenario.model,
                      scenario.deployment.layout,
                      scenario.execution,
                      scenario.cluster,
                      communication_of(scenario),
                      step_predictor(scenario, predictor_catalog()),
                      scenario.engine.host.gap.value() * 1e6,
                      scenario.engine.speculative,
                      scenario.engine.speculative ? scenario.engine.speculative->verified() : 0};
  subject.exchange = exchange_of(scenario);
  subject.nodes = nodes_of(scenario.deployment);
  if (options.adapters > 0 && !scenario.execution.lora)
    throw ConfigError({"--adapters"}, "the scenario has no adapters; it needs [engine.lora]");
  if (subject.speculation) subject.host_us += subject.speculation->host_time.value() * 1e6;
  subject.host_us *= stretch_of(scenario, "host");
  return subject;
}

}  // namespace

StepSubject step_subject(const StepOptions& options) {
  return options.scenario.empty() ? subject_of_options(options) : subject_of_scenario(options);
}

}  // namespace foretoken
