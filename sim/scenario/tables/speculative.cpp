// [engine.speculative]: what is read, and every way in which a draft does not fit its target.
#include "sim/scenario/tables.hpp"

namespace foretoken {
namespace {

/// More than any engine is run with, and few enough for the attention kernels of decodes.
constexpr int drafts_limit = 64;

bool has_draft_model(DraftMethod method) {
  return method == DraftMethod::draft_model || method == DraftMethod::eagle;
}

void read_acceptance(TableReader& table, SpeculativeSettings& settings) {
  const Value* given = table.find("acceptance");
  if (given == nullptr) {
    table.fail("acceptance",
               "is missing: the probability that a drafted token is accepted, given that those "
               "before it were, as one number or one for each draft (0.6 to 0.9 are usual)");
    return;
  }
  if (given->is_array()) {
    if (!table.read("acceptance", settings.acceptance)) return;
    const auto values = static_cast<int>(settings.acceptance.size());
    table.expect("acceptance", values == settings.drafts,
                 fmt::format("has {} probabilit{} for {} draft{}; give one for each draft, or one "
                             "number for all",
                             values, values == 1 ? "y" : "ies", settings.drafts,
                             settings.drafts == 1 ? "" : "s"));
  } else {
    double all = 0;
    if (!table.read("acceptance", all)) return;
    settings.acceptance.assign(static_cast<std::size_t>(settings.drafts), all);
  }
  for (const double probability : settings.acceptance) {
    table.expect("acceptance", probability >= 0 && probability <= 1,
                 fmt::format("is a probability, from 0 to 1, not {}", probability));
  }
}

/// The draft named in the file, or nothing.
std::optional<Transformer> load_draft(TableReader& table, const ScenarioOptions& options,
                                      SpeculativeSettings& settings) {
  std::optional<Transformer> draft;
  if (!table.read("model", settings.model_name)) return draft;
  settings.model_name = resolve_model(settings.model_name, table.position("model"), options);
  table.diagnostics().attempt(
      [&] { draft = load_model(settings.model_name, table.position("model")); });
  return draft;
}

void check_head(TableReader& table, const Transformer& head, const Transformer& target) {
  const DraftHead& shape = *head.draft_head;
  table.expect("model", shape.target_hidden == target.hidden,
               fmt::format("'{}' is a head for hidden states {} wide, but those of {} are {} wide",
                           head.name, shape.target_hidden, target.name, target.hidden));
  table.expect("model", shape.target_vocabulary == target.vocabulary,
               fmt::format("'{}' is a head for a vocabulary of {}, but that of {} is {}", head.name,
                           shape.target_vocabulary, target.name, target.vocabulary));
}

void read_draft_model(TableReader& table, const ScenarioOptions& options, const Transformer& target,
                      SpeculativeSettings& settings) {
  if (table.find("model") == nullptr) {
    table.fail("model", "is missing: which model drafts; a small one with the target's vocabulary");
    return;
  }
  settings.draft = load_draft(table, options, settings);
  if (!settings.draft || target.layers == 0) return;
  const Transformer& draft = *settings.draft;
  table.expect("model", !draft.draft_head,
               fmt::format("'{}' is a head on another model; use method = \"eagle\"", draft.name));
  table.expect("model", draft.vocabulary == target.vocabulary,
               fmt::format("'{}' has a vocabulary of {}, but {} one of {}: its drafts would be "
                           "other tokens; name a model of the same family",
                           draft.name, draft.vocabulary, target.name, target.vocabulary));
}

void read_eagle(TableReader& table, const ScenarioOptions& options, const Transformer& target,
                SpeculativeSettings& settings) {
  settings.draft = load_draft(table, options, settings);
  if (target.layers == 0) return;
  if (settings.draft) {
    const bool is_head = settings.draft->draft_head.has_value();
    table.expect("model", is_head,
                 fmt::format("'{}' is a model of its own; use method = \"draft_model\"",
                             settings.draft->name));
    if (is_head) check_head(table, *settings.draft, target);
    return;
  }
  if (table.find("model") != nullptr) return;  // reported
  if (target.mla || target.intermediate == 0 || target.moe || !target.kinds.empty()) {
    table.fail("model",
               fmt::format("is missing: for {}, which is no plain dense model, the head has to be "
                           "named (a TOML file with [draft_head])",
                           target.name));
    return;
  }
  settings.draft = eagle3_head(target);
}

void read_mtp(TableReader& table, const Transformer& target, SpeculativeSettings& settings) {
  if (target.layers == 0) return;
  if (target.mtp_layers == 0) {
    std::vector<std::string> with_module;
    for (const std::string& name : model_names()) {
      if (load_model(name, {}).mtp_layers > 0) with_module.push_back(name);
    }
    table.fail("method",
               fmt::format("is \"mtp\", but {} was released without a multi-token prediction "
                           "module ({} have one); use \"eagle\", \"draft_model\" or \"ngram\"",
                           target.name, fmt::join(with_module, ", ")));
    return;
  }
  settings.draft = mtp_module(target);
}

void read_draft(TableReader& table, const ScenarioOptions& options, const Scenario& scenario,
                SpeculativeSettings& settings) {
  switch (settings.method) {
    case DraftMethod::draft_model:
      read_draft_model(table, options, scenario.model, settings);
      break;
    case DraftMethod::eagle:
      read_eagle(table, options, scenario.model, settings);
      break;
    case DraftMethod::mtp:
      read_mtp(table, scenario.model, settings);
      break;
    case DraftMethod::ngram:
      break;
  }
  if (!has_draft_model(settings.method) && table.find("model") != nullptr) {
    table.fail("model", fmt::format("is not for method = \"{}\", which needs no other model",
                                    enum_name(settings.method)));
  }
}

void read_draft_formats(TableReader& table, SpeculativeSettings& settings) {
  DType dtype = DType::bf16;
  if (!table.read("dtype", dtype)) return;
  settings.formats = WeightFormats(dtype);
  table.expect("dtype", settings.method != DraftMethod::ngram,
               "is the format of a draft's weights, and \"ngram\" has none");
}

void read_draft_layout(TableReader& table, const Scenario& scenario,
                       SpeculativeSettings& settings) {
  const int whole = scenario.deployment.layout.tensor;
  settings.tensor_parallel = whole;
  if (table.read("tensor_parallel", settings.tensor_parallel)) {
    table.expect(
        "tensor_parallel", settings.tensor_parallel == 1 || settings.tensor_parallel == whole,
        fmt::format("must be 1 (every rank runs the draft whole) or the model's {}", whole));
    table.expect("tensor_parallel",
                 settings.method != DraftMethod::mtp || settings.tensor_parallel == whole,
                 "must be the model's: an MTP module is cut like the model's layers");
  }
  if (!settings.draft || !table.diagnostics().empty()) return;
  ParallelLayout layout = settings.layout(scenario.deployment.layout);
  // Attention ranks each run a dense draft on their own.
  if (!settings.draft->moe) layout.data_parallel_attention = 1;
  check_layout(*settings.draft, layout, table.position("tensor_parallel"), table.diagnostics());
}

}  // namespace

void read_speculative_table(TableReader table, const ScenarioOptions& options, Scenario& scenario) {
  SpeculativeSettings settings;
  const bool has_method = table.require("method", settings.method);
  if (table.require("drafts", settings.drafts)) {
    table.expect("drafts", settings.drafts >= 0 && settings.drafts <= drafts_limit,
                 fmt::format("must be from 1 to {} (or 0: no speculation), not {}", drafts_limit,
                             settings.drafts));
  }
  settings.drafts = std::clamp(settings.drafts, 0, drafts_limit);
  if (settings.drafts > 0) {
    read_acceptance(table, settings);
  } else {
    static_cast<void>(table.find("acceptance"));
  }
  if (has_method) read_draft(table, options, scenario, settings);
  read_draft_formats(table, settings);
  read_draft_layout(table, scenario, settings);
  table.read("host_time", settings.host_time);
  table.expect("host_time", settings.host_time >= Seconds(0.0), "must not be negative");
  const EngineSettings& engine = scenario.engine;
  table.expect(
      "drafts",
      engine.batch_tokens_max >= std::int64_t{engine.sequences_max} * (1 + settings.drafts),
      fmt::format("= {} asks for {} tokens a sequence and step, which is more than "
                  "batch_tokens_max = {} for sequences_max = {}; raise the one or lower "
                  "the other",
                  settings.drafts, 1 + settings.drafts, engine.batch_tokens_max,
                  engine.sequences_max));
  table.finish();
  if (settings.drafts > 0) scenario.engine.speculative = std::move(settings);
}

Value resolved_speculative_table(const SpeculativeSettings& settings) {
  Value table;
  table.set("method", std::string(enum_name(settings.method)));
  table.set("drafts", settings.drafts);
  table.set("acceptance", ValueArray(settings.acceptance.begin(), settings.acceptance.end()));
  if (!settings.model_name.empty()) table.set("model", settings.model_name);
  if (settings.formats) table.set("dtype", std::string(enum_name(settings.formats->linear)));
  if (settings.draft) table.set("tensor_parallel", settings.tensor_parallel);
  table.set("host_time", exact_text(settings.host_time));
  return table;
}

}  // namespace foretoken
