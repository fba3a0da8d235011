// foretoken step: prices one engine iteration and says which kernels it is made of.

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <memory>

#include "kernels/communication_price.hpp"
#include "sim/app/subcommand.hpp"
#include "sim/app/terminal.hpp"
#include "sim/base/json.hpp"
#include "sim/report/rounding.hpp"
#include "sim/report/text_table.hpp"
#include "sim/run/run.hpp"
#include "sim/run/step_price.hpp"
#include "sim/scenario/tables.hpp"
#include "workloads/kv_format.hpp"

namespace foretoken {
namespace {

struct StepOptions {
  std::string model, gpu, cluster, prefill, decode, predictor = "synperf";
  std::string dtype, expert_dtype, kv_dtype, routing = "balanced", framework = "vllm",
                                             sampling = "greedy";
  std::string scenario, communication = "model", fallback = "none", all_reduce = "auto";
  std::vector<std::string> overrides;
  std::string speculate, draft_model;
  int drafts = 0, draft_tensor = 0;
  bool warm = false;
  ParallelLayout layout;
  int block_tokens = 16;
  double host_us = 0;
  bool json = false;
};

std::string_view next_piece(std::string_view& rest, char separator) {
  const auto end = rest.find(separator);
  const std::string_view piece = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  return piece;
}

std::int64_t parse_count(std::string_view text, const char* option, std::string_view whole) {
  std::int64_t count = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (status != std::errc() || end != text.data() + text.size() || count < 1) {
    throw ConfigError(
        {option}, fmt::format("'{}' is not {}", whole,
                              std::string_view(option) == "--prefill"
                                  ? "COUNTxTOKENS or COUNTxTOKENS@CACHED, as in 1x2048,1x512@4096"
                                  : "COUNTxCONTEXT, as in 64x1024,8x4096"));
  }
  return count;
}

/// "2x512@4096,1x64": COUNTxTOKENS[@ALREADY_CACHED] for prompts, COUNTxCONTEXT for decodes.
/// A decode verifies `drafts` tokens behind its own.
void add_slices(const std::string& text, const char* option, bool is_prefill, int drafts,
                std::vector<SequenceSlice>& slices) {
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view piece = next_piece(rest, ',');
    std::string_view body = piece;
    const std::string_view count_text = next_piece(body, 'x');
    const std::int64_t count = parse_count(count_text, option, piece);
    const std::string_view tokens_text = is_prefill ? next_piece(body, '@') : body;
    const std::int64_t tokens = parse_count(tokens_text, option, piece);
    SequenceSlice slice{is_prefill ? tokens : 1 + drafts, tokens + drafts};
    if (is_prefill && piece.find('@') != std::string_view::npos) {
      slice.context_tokens += body == "0" ? 0 : parse_count(body, option, piece);
    }
    if (count > 1'000'000)
      throw ConfigError({option}, fmt::format("{} sequences are too many", count));
    slices.insert(slices.end(), static_cast<std::size_t>(count), slice);
  }
}

template <class Enum>
Enum parse_option(const std::string& text, const char* option) {
  if (const auto value = parse_enum<Enum>(text)) return *value;
  const auto& names = EnumNames<Enum>::names;
  throw ConfigError({option}, unknown_name_message("value", text, {names.begin(), names.end()}));
}

BatchShape batch_of(const StepOptions& options, const ParallelLayout& layout, int drafts) {
  std::vector<SequenceSlice> slices;
  add_slices(options.prefill, "--prefill", true, 0, slices);
  const std::size_t prompts = slices.size();
  add_slices(options.decode, "--decode", false, drafts, slices);
  if (slices.empty()) {
    throw ConfigError({"step"}, "names no work; give --prefill 1x2048 or --decode 64x1024");
  }
  BatchShape batch;
  const auto decodes = static_cast<std::int64_t>(slices.size() - prompts);
  batch.logit_rows = static_cast<std::int64_t>(slices.size()) + decodes * drafts;
  batch.attention = AttentionLoad::exact(std::move(slices), 1 + drafts);
  batch.tokens = batch.attention.query_tokens();
  batch.stage_tokens = batch.tokens * layout.data_parallel_attention;
  batch.stage_tokens_max = batch.tokens;
  return batch;
}

ClusterSpec cluster_of(const StepOptions& options) {
  if (options.cluster.empty() == options.gpu.empty()) {
    throw ConfigError({"step"}, "needs exactly one of --gpu and --cluster");
  }
  if (!options.cluster.empty()) return load_cluster(options.cluster, {"--cluster"});
  return usual_cluster(load_gpu(options.gpu, {"--gpu"}), options.layout.ranks());
}

Value kernels_value(const std::vector<StepKernel>& kernels) {
  ValueArray rows;
  for (const StepKernel& kernel : kernels) {
    Value row;
    row.set("name", kernel.role);
    row.set("kernel", kernel.kernel);
    row.set("calls", kernel.calls);
    row.set("time_us", rounded(kernel.time.value() * 1e6));
    row.set("bound_by", std::string(enum_name(kernel.bound_by)));
    row.set("origin", std::string(enum_name(kernel.origin)));
    rows.push_back(std::move(row));
  }
  return rows;
}

Value drafts_value(const std::vector<DraftPasses>& drafts) {
  ValueArray rows;
  for (const DraftPasses& draft : drafts) {
    Value row;
    row.set("passes", draft.passes);
    row.set("time_us", rounded(draft.time().value() * 1e6));
    row.set("kernels", kernels_value(draft.kernels));
    rows.push_back(std::move(row));
  }
  return rows;
}

Value step_value(const StepCost& cost, double host_us) {
  Value value;
  const double compute_us = cost.compute().value() * 1e6;
  const double communication_us = cost.communication().value() * 1e6;
  value.set("total_us", rounded(compute_us + communication_us + host_us));
  value.set("compute_us", rounded(compute_us));
  value.set("communication_us", rounded(communication_us));
  value.set("host_us", host_us);
  std::vector<StepKernel> all;
  for (const auto& stage : cost.stages) all.insert(all.end(), stage.begin(), stage.end());
  value.set("kernels", kernels_value(all));
  if (!cost.drafts.empty()) value.set("drafts", drafts_value(cost.drafts));
  if (cost.stages.size() > 1) {
    ValueArray stages;
    for (std::size_t i = 0; i < cost.stages.size(); ++i) {
      Value stage;
      stage.set("stage", static_cast<int>(i));
      stage.set("compute_us", rounded(cost.compute(i).value() * 1e6));
      stage.set("communication_us", rounded(cost.communication(i).value() * 1e6));
      stage.set("kernels", kernels_value(cost.stages[i]));
      stages.push_back(std::move(stage));
    }
    value.set("stages", std::move(stages));
  }
  return value;
}

/// What stands in front of the kernels of a draft's passes: "draft 2-3: ".
std::string draft_label(const DraftPasses& draft, std::size_t index) {
  if (index == 0) return "draft: ";
  return draft.passes == 1 ? "draft 2: " : fmt::format("draft 2-{}: ", draft.passes + 1);
}

std::string batch_text(const BatchShape& batch) {
  const LoadSums& decode = batch.attention.decode;
  std::string text = fmt::format("{} new tokens of {} sequences", batch.tokens,
                                 batch.attention.prefill.sequences + decode.sequences);
  if (batch.attention.verifies_drafts()) {
    text += fmt::format(", {} of them drafts", decode.query_tokens - decode.sequences);
  }
  return text;
}

void print_table(const std::string& model, const StepCost& cost, const BatchShape& batch,
                 double host_us) {
  const Ink ink(shows_colour(stdout));
  const double total_us = (cost.compute() + cost.communication()).value() * 1e6 + host_us;
  fmt::print("{}\n", ink.strong(fmt::format("One step of {}: {}", model, batch_text(batch))));
  TextTable table({{"kernel", Align::left},
                   {"type", Align::left},
                   {"calls", Align::right},
                   {"time us", Align::right},
                   {"share", Align::right},
                   {"bound by", Align::left},
                   {"price from", Align::left}});
  const auto add_rows = [&](const std::string& label, const std::vector<StepKernel>& kernels) {
    for (const StepKernel& kernel : kernels) {
      const double time_us = kernel.time.value() * 1e6;
      table.add_row(
          {label + kernel.role, kernel.kernel, fmt::format("{}", kernel.calls),
           fmt::format("{:.1f}", time_us), fmt::format("{:.1f} %", 100.0 * time_us / total_us),
           std::string(enum_name(kernel.bound_by)), std::string(enum_name(kernel.origin))});
    }
  };
  for (std::size_t i = 0; i < cost.stages.size(); ++i) {
    add_rows(cost.stages.size() > 1 ? fmt::format("{}: ", i) : "", cost.stages[i]);
  }
  for (std::size_t i = 0; i < cost.drafts.size(); ++i) {
    add_rows(draft_label(cost.drafts[i], i), cost.drafts[i].kernels);
  }
  table.set_total({"total", "", "", fmt::format("{:.1f}", total_us), "", "", ""});
  fmt::print("{}", table.text({.width = terminal_width(stdout), .colour = shows_colour(stdout)}));
  fmt::print("  compute {:.1f} us, communication {:.1f} us, host {:.1f} us\n",
             cost.compute().value() * 1e6, cost.communication().value() * 1e6, host_us);
  if (cost.drafts.empty()) return;
  Seconds drafting;
  int passes = 0;
  for (const DraftPasses& draft : cost.drafts) {
    drafting += draft.time();
    passes += draft.passes;
  }
  fmt::print("  drafting {:.1f} us of these: {} pass{}\n", drafting.value() * 1e6, passes,
             passes == 1 ? "" : "es");
}

/// What takes the step, and where.
struct StepSubject {
  std::string model_name;
  Transformer model;
  ParallelLayout layout;
  ExecutionSettings execution;
  ClusterSpec cluster;
  CommSettings comm;
  std::unique_ptr<Predictor> predictor;
  double host_us = 0;
  std::optional<SpeculativeSettings> speculation = {};
  int drafts = 0;  // that each decode verifies
};

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
  const std::vector<std::string_view> known = all_reduce_names();
  if (std::ranges::find(known, name) == known.end())
    throw ConfigError({"--all-reduce"}, unknown_name_message("algorithm", name, known));
}

StepSubject subject_of_options(const StepOptions& options) {
  if (options.model.empty())
    throw ConfigError({"step"}, "needs --model, or --scenario with all but the batch");
  StepSubject subject;
  subject.model_name = options.model;
  subject.model = load_model(options.model, {"--model"});
  subject.layout = options.layout;
  subject.host_us = options.host_us;
  ExecutionSettings& execution = subject.execution;
  if (subject.model.released) {
    execution.dtype = subject.model.released->linear;
    execution.expert_dtype = subject.model.released->experts;
  }
  if (!options.dtype.empty()) {
    execution.dtype = parse_option<DType>(options.dtype, "--dtype");
    execution.expert_dtype.reset();
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
  subject.cluster = cluster_of(options);
  if (const std::string problem = kv_format_problem(execution.kv_dtype, subject.cluster.gpu);
      !problem.empty()) {
    throw ConfigError({"--kv-dtype"}, problem);
  }
  check_all_reduce(options.all_reduce);
  subject.comm = {subject.cluster.comm, options.all_reduce};
  const auto fallback = parse_option<CommFallback>(options.fallback, "--communication-fallback");
  if (parse_option<CommSource>(options.communication, "--communication") == CommSource::measured) {
    subject.comm.measured =
        measured_prices(subject.cluster, execution.implementation.framework, fallback);
  }
  Diagnostics diagnostics;
  check_layout(subject.model, subject.layout, {"step"}, diagnostics);
  diagnostics.throw_if_any();
  subject.predictor = make_predictor(Catalogs().predictors, options.predictor, {"--predictor"});
  subject.speculation = speculation_of(options, subject);
  subject.drafts = options.drafts;
  return subject;
}

StepSubject subject_of_scenario(const StepOptions& options) {
  const Scenario scenario = load_scenario(options.scenario, options.overrides);
  StepSubject subject{scenario.model_name,
                      scenario.model,
                      scenario.deployment.layout,
                      scenario.execution,
                      scenario.cluster,
                      {scenario.cluster.comm, scenario.deployment.all_reduce},
                      make_predictor(Catalogs().predictors, scenario.predictor),
                      scenario.engine.host.gap.value() * 1e6,
                      scenario.engine.speculative,
                      scenario.engine.speculative ? scenario.engine.speculative->drafts : 0};
  if (subject.speculation) subject.host_us += subject.speculation->host_time.value() * 1e6;
  subject.comm.protocol = scenario.deployment.nccl_protocol;
  if (scenario.communication == CommSource::measured) {
    subject.comm.measured =
        measured_prices(scenario.cluster, scenario.execution.implementation.framework,
                        scenario.communication_fallback);
  }
  return subject;
}

int step(const StepOptions& options) {
  const StepSubject subject =
      options.scenario.empty() ? subject_of_options(options) : subject_of_scenario(options);
  const BatchShape batch = batch_of(options, subject.layout, subject.drafts);
  StepCost cost = price_step(subject.model, subject.layout, subject.execution, subject.cluster,
                             subject.comm, *subject.predictor, batch);
  if (subject.speculation) {
    cost.drafts = price_drafts(*subject.speculation, subject.layout, subject.execution,
                               subject.cluster, subject.comm, *subject.predictor, batch);
  }
  if (options.json) {
    fmt::print("{}\n", to_json(step_value(cost, subject.host_us)));
  } else {
    print_table(subject.model_name, cost, batch, subject.host_us);
  }
  return 0;
}

}  // namespace

void add_step(CLI::App& program, Action& chosen) {
  auto options = std::make_shared<StepOptions>();
  CLI::App* command =
      program.add_subcommand("step", "Price one engine iteration, kernel by kernel");
  command->add_option("--model", options->model, "Model: name, TOML or config.json");
  command->add_option("--gpu", options->gpu, "GPU: name or TOML");
  command->add_option("--cluster", options->cluster, "Cluster: name or TOML");
  command->add_option("--tp", options->layout.tensor, "Tensor-parallel ranks")
      ->check(CLI::PositiveNumber);
  command->add_option("--pp", options->layout.pipeline, "Pipeline stages")
      ->check(CLI::PositiveNumber);
  command
      ->add_option("--dp", options->layout.data_parallel_attention,
                   "Attention ranks (groups of TP) that share the experts, each with this batch")
      ->check(CLI::PositiveNumber);
  command->add_option("--ep", options->layout.expert, "Expert-parallel ranks")
      ->check(CLI::PositiveNumber);
  command->add_option("--dtype", options->dtype,
                      "Format of weights: bf16, fp8, nvfp4 ... (default: as published)");
  command->add_option("--expert-dtype", options->expert_dtype, "Format of the experts' weights");
  command->add_option("--kv-dtype", options->kv_dtype, "Format of the KV cache");
  command->add_option("--predictor", options->predictor, "Predictor (see: foretoken list)");
  command->add_option("--prefill", options->prefill, "Prompts: COUNTxTOKENS[@ALREADY_CACHED],...");
  command->add_option("--decode", options->decode, "Decoding sequences: COUNTxCONTEXT,...");
  CLI::Option* drafts =
      command->add_option("--drafts", options->drafts, "Drafted tokens that each decode verifies")
          ->check(CLI::Range(0, 64));
  CLI::Option* speculate =
      command
          ->add_option("--speculate", options->speculate,
                       "Who drafts behind the step: draft_model, eagle, mtp or ngram")
          ->needs(drafts);
  command->add_option("--draft-model", options->draft_model, "The draft: name or TOML")
      ->needs(speculate);
  command->add_option("--draft-tp", options->draft_tensor, "Tensor-parallel ranks of the draft")
      ->check(CLI::PositiveNumber)
      ->needs(speculate);
  command->add_option("--framework", options->framework, "Whose kernels: vllm, sglang, trtllm");
  command->add_option("--sampling", options->sampling, "How tokens are chosen: greedy or top_p");
  command->add_flag("--warm", options->warm, "Weights and KV in L2 where they fit (default: cold)");
  command->add_option("--routing", options->routing,
                      "MoE: balanced, power_law:EXPONENT or balancedness:B");
  command->add_option("--block-tokens", options->block_tokens, "Tokens of a KV block")
      ->check(CLI::PositiveNumber);
  command->add_option("--host-us", options->host_us, "Host time added to the step")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--communication", options->communication,
                      "Who prices collectives: model (formulas) or measured (a database)");
  command->add_option("--communication-fallback", options->fallback,
                      "What was not measured: none (an error) or model");
  command->add_option("--all-reduce", options->all_reduce, "Algorithm: auto, nccl, ring, tree ...");
  // A scenario says all of that itself.
  const std::vector<CLI::Option*> settings =
      command->get_options([](const CLI::Option* option) { return !option->check_name("--help"); });
  CLI::Option* scenario = command->add_option(
      "--scenario", options->scenario,
      "Model, cluster, layout, engine and predictor of this scenario, instead of these options");
  for (CLI::Option* setting : settings) {
    if (!setting->check_name("--prefill") && !setting->check_name("--decode"))
      scenario->excludes(setting);
  }
  command->add_option("--set", options->overrides, "Override one value of the scenario: key=value")
      ->needs(scenario);
  command->add_flag("--json", options->json, "Print one JSON object");
  command->footer(examples(
      "  foretoken step --model llama-3.1-8b --gpu h200-sxm --decode 64x1024\n"
      "  foretoken step --model llama-3.1-70b --cluster h100-sxm-8 --tp 4 "
      "--prefill 1x2048,1x512@4096 --decode 32x2000\n"
      "  foretoken step --model llama-3.1-70b --cluster h200-sxm-4 --tp 4 --decode 32x2000 "
      "--speculate eagle --drafts 3\n"
      "  foretoken step --model qwen3-30b-a3b --gpu l40s --dtype fp8 --decode 8x512 --json\n"
      "  foretoken step --scenario examples/tensor_parallel.toml --decode 64x1024"));
  command->callback([options, &chosen] { chosen = [options] { return step(*options); }; });
}

}  // namespace foretoken
