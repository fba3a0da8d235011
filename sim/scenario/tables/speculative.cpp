// [engine.speculative]: what is read, and every way in which a draft does not fit its target.
#include "sim/scenario/tables.hpp"
#include "sim/scenario/tables/drafts.hpp"

namespace foretoken {
namespace {

bool has_draft_model(DraftMethod method) {
  return method == DraftMethod::draft_model || method == DraftMethod::eagle;
}

void read_dtype(TableReader& table, SpeculativeSettings& settings) {
  DType dtype = DType::bf16;
  if (table.read("dtype", dtype)) settings.formats = WeightFormats(dtype);
}

const Keys<SpeculativeSettings>& speculative_keys() {
  using S = SpeculativeSettings;
  static const Keys<S> keys = {
      {"method",
       &S::method,
       {.required = true},
       "Drafting method: draft_model (a small model with the same vocabulary), eagle (an EAGLE or "
       "EAGLE-3 "
       "head), mtp (the multi-token prediction module released with the model) or ngram (a look-up "
       "on the host that takes no GPU time)."},
      {"drafts",
       &S::drafts,
       {.range = between(
            0, drafts_limit,
            fmt::format("must be from 1 to {} (or 0: no speculation), not {{}}", drafts_limit)),
        .unit = "tokens",
        .required = true},
       "Tokens drafted for each sequence after each step and verified together in the next; 2 to 5 "
       "are usual. 0 turns speculation off. For a tree: its depth."},
      Key<S>("topk", &S::topk, {.range = between(1, 16, "must be from 1 (a chain) to 16")},
             "Candidates per position: the draft continues with this many of each level, each of "
             "which gets this many (EAGLE-2; SGLang's speculative_eagle_topk). 1: a chain.")
          .written_if([](const S& s) { return s.is_tree(); }),
      Key<S>("tree_tokens", &S::tree_tokens, {.unit = "tokens", .fallback = "required with topk"},
             "Drafted tokens of a tree that are verified, the most likely ones; SGLang's "
             "speculative_num_draft_tokens is one more.")
          .written_if([](const S& s) { return s.is_tree(); }),
      Key<S>("topk_exponent", &S::topk_exponent, {.range = between(0, 4, "must be from 0 to 4")},
             "Probability that none of the k best candidates is accepted: (1 - acceptance) / "
             "k^this. 0.43: the best is right in 60 %, one of five in 80 %, as Medusa's "
             "announcement reports of its heads for the token after next.")
          .written_if([](const S& s) { return s.is_tree(); }),
      {{.name = "acceptance",
        .type = "number, list of numbers or string",
        .fallback = "required",
        .allowed = "0 to 1, or a text that it was measured on",
        .meaning = "Probability that the model accepts a drafted token, given that it accepted "
                   "those before it: one for all positions or one for each. It depends on model "
                   "and text; 0.6 to 0.9 are usual. \"coding\" and \"coding_thinking\" use what "
                   "was measured for DeepSeek-V4-Pro, Kimi-K2.5, MiniMax-M3 and Qwen3.5-397B."},
       read_acceptance,
       [](const S& s) { return KeyForm<std::vector<double>>::write(s.acceptance); }},
      {{.name = "drafts_by_batch",
        .type = "list of [sequences, drafts]",
        .fallback = "not set (always drafts)",
        .allowed = "ascending sequences; 0 to drafts",
        .meaning = "Fewer drafts in steps with many sequences, where verification is costly: [[16, "
                   "2], [64, 0]] drafts two from 16 sequences and none from 64."},
       read_drafts_by_batch,
       drafts_by_batch_value},
      {"model",
       &S::model_name,
       {.fallback = "required by draft_model; eagle: an EAGLE-3 head that fits the model",
        .allowed = "a model's name or path",
        .quiet = true},
       "Model that drafts. Methods mtp and ngram take none."},
      {{.name = "dtype",
        .type = "string",
        .fallback = "as published; heads in 16 bit",
        .allowed = KeyForm<DType>::allowed(),
        .meaning = "Number format of the draft's weights."},
       read_dtype,
       [](const S& s) -> std::optional<Value> {
         if (!s.formats) return std::nullopt;
         return std::string(enum_name(s.formats->linear));
       }},
      Key<S>(
          "tensor_parallel", &S::tensor_parallel,
          {.unit = "GPUs", .fallback = "the model's", .allowed = "1 or the model's"},
          "GPUs that the draft is split over. At 1 each GPU runs the whole draft, which saves its "
          "communication.")
          .written_if([](const S& s) { return s.draft.has_value(); }),
      {"host_time",
       &S::host_time,
       {.range = not_negative()},
       "CPU time that speculation adds to every step, on top of the engine's own host_* times."},
  };
  return keys;
}

/// The draft named in the file, or nothing.
std::optional<Transformer> load_draft(TableReader& table, const ScenarioOptions& options,
                                      SpeculativeSettings& settings) {
  std::optional<Transformer> draft;
  if (settings.model_name.empty()) return draft;
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
                 fmt::format("'{}' is a complete model; use method = \"draft_model\"",
                             settings.draft->name));
    if (is_head) check_head(table, *settings.draft, target);
    return;
  }
  if (table.find("model") != nullptr) return;  // reported
  if (target.mla || target.intermediate == 0 || target.moe || !target.kinds.empty()) {
    table.fail("model", fmt::format("is missing: {} is not a plain dense model, so the head must "
                                    "be named (a TOML file with [draft_head])",
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

/// A mistake there was reported; what would follow from another method is not.
bool names_method(TableReader& table) {
  const Value* method = table.find("method");
  return method != nullptr && method->is_string() &&
         parse_enum<DraftMethod>(std::get<std::string>(method->data)).has_value();
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

void read_draft_layout(TableReader& table, const Scenario& scenario,
                       SpeculativeSettings& settings) {
  const int whole = scenario.deployment.layout.tensor;
  if (table.find("tensor_parallel") != nullptr) {
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

void read_tree(TableReader& table, SpeculativeSettings& settings) {
  for (const char* key : {"tree_tokens", "topk_exponent"}) {
    table.expect(key, settings.is_tree() || table.find(key) == nullptr,
                 "has no effect on a chain; set topk to 2 or more, or remove it");
  }
  if (!settings.is_tree() || settings.drafts == 0) return;
  table.expect("topk", settings.method != DraftMethod::ngram,
               "needs a model or head that drafts; an n-gram look-up gives a chain");
  table.expect("topk", settings.drafts_by_batch.empty(),
               "makes a tree, to which drafts_by_batch does not apply; remove one of the two");
  if (table.find("tree_tokens") == nullptr) {
    table.fail("tree_tokens",
               "is missing: how many drafted tokens of the tree are verified, for example 15 "
               "(speculative_num_draft_tokens less one)");
    settings.tree_tokens = settings.drafts;
    return;
  }
  // The first pass drafts topk candidates, each later one as many for each of topk.
  const std::int64_t most = std::min<std::int64_t>(
      settings.topk + std::int64_t{settings.drafts - 1} * settings.topk * settings.topk,
      drafts_limit);
  table.expect(
      "tree_tokens", settings.tree_tokens >= settings.drafts && settings.tree_tokens <= most,
      fmt::format("must be from drafts = {} to {}, what topk = {} drafts in {} passes, and "
                  "at most {}",
                  settings.drafts, most, settings.topk, settings.drafts, drafts_limit));
  settings.tree_tokens = static_cast<int>(std::clamp<std::int64_t>(settings.tree_tokens, 1, most));
}

}  // namespace

void read_speculative_table(TableReader table, const ScenarioOptions& options, Scenario& scenario) {
  SpeculativeSettings settings;
  settings.tensor_parallel = scenario.deployment.layout.tensor;
  speculative_keys().read(table, settings);
  settings.drafts = std::clamp(settings.drafts, 0, drafts_limit);
  look_up_acceptance(table, scenario, settings);
  if (names_method(table)) read_draft(table, options, scenario, settings);
  table.expect("dtype", !settings.formats || settings.method != DraftMethod::ngram,
               "is the format of a draft's weights, but \"ngram\" has none");
  read_draft_layout(table, scenario, settings);
  read_tree(table, settings);
  const EngineSettings& engine = scenario.engine;
  const int verified = settings.verified();
  table.expect(
      settings.is_tree() ? "tree_tokens" : "drafts",
      engine.batch_tokens_max >= std::int64_t{engine.sequences_max} * (1 + verified),
      fmt::format("= {} needs {} tokens per sequence and step, which is more than batch_tokens_max "
                  "= {} for sequences_max = {}; raise one or lower the other",
                  verified, 1 + verified, engine.batch_tokens_max, engine.sequences_max));
  finish(table);
  if (settings.drafts > 0) scenario.engine.speculative = std::move(settings);
}

Value resolved_speculative_table(const SpeculativeSettings& settings) {
  return speculative_keys().table(settings);
}

KeyTable speculative_key_table() {
  return {"engine.speculative", "",
          "Speculative decoding: a draft proposes tokens that the model verifies in one step.",
          speculative_keys().notes()};
}

}  // namespace foretoken
