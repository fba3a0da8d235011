#include "kernels/communication/engine_exchange.hpp"

#include <algorithm>

#include "sim/base/embedded.hpp"
#include "sim/base/table_reader.hpp"
#include "sim/base/toml.hpp"

namespace foretoken {

std::span<const EmbeddedFile> embedded_expert_exchange();

namespace {

/// What SGLang's low-latency buffers hold of a rank's tokens
/// (SGLANG_DEEPEP_NUM_MAX_DISPATCH_TOKENS_PER_RANK).
constexpr int low_latency_tokens_max = 128;

ExchangeChoice read_exchange_choice(const Value& value, Framework engine,
                                    Diagnostics& diagnostics) {
  ExchangeChoice choice;
  choice.engine = engine;
  choice.exchange.quantised.clear();
  if (!value.is_object()) {
    diagnostics.add(value.position, "must be a table: [[choice]]");
    return choice;
  }
  TableReader table(value, diagnostics, "choice");
  table.require("since", choice.since);
  table.read("gpus", choice.gpus);
  table.read("ranks_above_topk", choice.ranks_above_topk);
  table.require("prompts", choice.exchange.prompts);
  table.require("decodes", choice.exchange.decodes);
  table.read("decode_tokens_max", choice.exchange.decode_tokens_max);
  table.expect("decode_tokens_max", choice.exchange.decode_tokens_max >= 0, "must not be negative");
  std::vector<std::string> formats;
  table.read("quantised", formats);
  for (const std::string& name : formats) {
    const auto format = parse_enum<DType>(name);
    table.expect("quantised", format.has_value(), "must name formats of weights");
    if (format) choice.exchange.quantised.push_back(*format);
  }
  table.require("source", choice.source);
  table.finish();
  return choice;
}

bool holds_at(const ExchangeChoice& choice, const ExchangeSite& site) {
  const auto is_named = [&](const std::string& gpu) { return site.gpu.starts_with(gpu); };
  if (!choice.gpus.empty() && std::ranges::none_of(choice.gpus, is_named)) return false;
  if (choice.ranks_above_topk && site.ranks <= site.topk) return false;
  return site.has_whole_experts || !choice.exchange.needs_whole_experts();
}

}  // namespace

std::string ExchangeChoice::condition() const {
  std::string text = "since " + since;
  if (!gpus.empty()) text += fmt::format(", on {}", fmt::join(gpus, ", "));
  if (ranks_above_topk) text += ", more ranks than experts a token";
  return text;
}

std::vector<ExchangeChoice> read_exchange_choices(const Value& root) {
  Diagnostics diagnostics;
  TableReader top(root, diagnostics, "");
  Framework engine{};
  top.require("engine", engine);
  std::vector<ExchangeChoice> choices;
  const Value* list = top.find("choice");
  const auto* elements = list == nullptr ? nullptr : std::get_if<ValueArray>(&list->data);
  top.expect("choice", elements != nullptr, "must be [[choice]] tables");
  if (elements != nullptr) {
    for (const Value& element : *elements)
      choices.push_back(read_exchange_choice(element, engine, diagnostics));
  }
  top.finish();
  diagnostics.throw_if_any();
  return choices;
}

const ExchangeChoices& ExchangeChoices::built_in() {
  static const ExchangeChoices all = [] {
    std::vector<ExchangeChoice> choices;
    for (const EmbeddedFile& file : embedded_expert_exchange()) {
      const Value root =
          parse_toml(file.text, fmt::format("hardware/specs/expert_exchange/{}.toml", file.stem));
      std::ranges::move(read_exchange_choices(root), std::back_inserter(choices));
    }
    return ExchangeChoices(std::move(choices));
  }();
  return all;
}

const ExchangeChoice* ExchangeChoices::find(const EngineVersion& asked,
                                            const ExchangeSite& site) const {
  const ExchangeChoice* best = nullptr;
  for (const ExchangeChoice& choice : choices_) {
    if (choice.engine != asked.engine || !holds_at(choice, site)) continue;
    if (best == nullptr || !is_nearer(asked.version, best->since, choice.since)) best = &choice;
  }
  return best;
}

std::optional<ExpertExchange> exchange_called(std::string_view name) {
  if (name == "deepep") {
    return ExpertExchange{ExchangeMethod::deepep_normal, ExchangeMethod::deepep_low_latency,
                          low_latency_tokens_max};
  }
  const auto method = parse_enum<ExchangeMethod>(name);
  if (!method) return std::nullopt;
  ExpertExchange exchange{*method, *method};
  if (!exchange.needs_whole_experts() && *method != ExchangeMethod::all_to_all)
    exchange.quantised.clear();
  return exchange;
}

std::vector<std::string_view> exchange_names() {
  std::vector<std::string_view> names = {"auto", "vllm", "sglang", "trtllm", "deepep"};
  names.insert(names.end(), EnumNames<ExchangeMethod>::names.begin(),
               EnumNames<ExchangeMethod>::names.end());
  return names;
}

bool is_exchange_name(std::string_view name) {
  return name == "auto" || exchange_called(name) || parse_engine_version(name);
}

SettledExchange settle_exchange(std::string_view name, const EngineVersion& own,
                                const ExchangeSite& site) {
  if (const auto exchange = exchange_called(name)) return {*exchange, ""};
  const EngineVersion asked = parse_engine_version(name).value_or(own);
  const ExchangeChoice* choice = ExchangeChoices::built_in().find(asked, site);
  if (choice == nullptr) return {};
  return {choice->exchange,
          fmt::format("{} since {}: {}", enum_name(choice->engine), choice->since, choice->source)};
}

std::string exchange_text(const ExpertExchange& exchange) {
  const std::string_view prompts = enum_name(exchange.prompts);
  if (exchange.prompts == exchange.decodes) return std::string(prompts);
  return fmt::format("{} (prompts), {} (decodes)", prompts, enum_name(exchange.decodes));
}

}  // namespace foretoken
