#include "sim/scenario/server_rules.hpp"

#include <algorithm>
#include <charconv>
#include <span>

#include "sim/base/embedded.hpp"
#include "sim/base/toml.hpp"

namespace foretoken {

// Generated at build time from examples/servers/ (CMakeLists.txt).
std::span<const EmbeddedFile> embedded_server_rules();

namespace {

/// What the launch line says of tensor parallelism: SGLang's and TensorRT-LLM's counts the ranks of
/// attention that share a copy of the experts, vLLM's does not.
int launched_tensor(const ClosedLoopPoint& point) {
  const MeasuredLayout& layout = point.layout;
  return point.engine == "vllm" ? layout.tensor : layout.tensor * layout.attention_ranks;
}

bool is_among(const std::vector<std::string>& names, const std::string& name) {
  return names.empty() || std::ranges::find(names, name) != names.end();
}

bool begins_with_any(const std::vector<std::string>& beginnings, const std::string& text) {
  return beginnings.empty() || std::ranges::any_of(beginnings, [&](const std::string& beginning) {
           return text.starts_with(beginning);
         });
}

void read_switch(TableReader& table, const char* key, std::optional<bool>& out) {
  if (bool value = false; table.read(key, value)) out = value;
}

LayoutRule read_layout(TableReader table) {
  LayoutRule layout;
  read_switch(table, "expert_parallel", layout.expert_parallel);
  read_switch(table, "attention_ranks", layout.attention_ranks);
  table.finish();
  return layout;
}

RuleScope read_scope(TableReader table) {
  RuleScope scope;
  table.read("sources", scope.sources);
  table.read("versions", scope.versions);
  table.read("days", scope.days);
  table.read("engines", scope.engines);
  table.read("models", scope.models);
  table.read("systems", scope.systems);
  table.read("formats", scope.formats);
  read_switch(table, "experts", scope.experts);
  read_switch(table, "attention_ranks", scope.attention_ranks);
  read_switch(table, "expert_parallel", scope.expert_parallel);
  read_switch(table, "disaggregated", scope.disaggregated);
  read_switch(table, "prefill_attention_ranks", scope.prefill_attention_ranks);
  table.read("users_at_least", scope.users_at_least);
  table.read("users_below", scope.users_below);
  table.read("decode_workers", scope.decode_workers);
  table.read("prompt_at_least", scope.prompt_at_least);
  table.read("prompt_below", scope.prompt_below);
  table.read("output_below", scope.output_below);
  table.read("tensor_below", scope.tensor_below);
  table.read("tensor_at_least", scope.tensor_at_least);
  table.finish();
  return scope;
}

ServerRule read_rule(const Value& given, Diagnostics& diagnostics, const std::string& name) {
  ServerRule rule;
  TableReader table(given, diagnostics, name);
  std::string about;
  table.require("about", about);
  if (const Value* where = table.find_table("where")) {
    rule.scope = read_scope({*where, diagnostics, name + ".where"});
  }
  if (const Value* clients = table.find_table("clients")) {
    TableReader reader(*clients, diagnostics, name + ".clients");
    reader.require("length_from", rule.length_from);
    reader.expect("length_from", rule.length_from > 0 && rule.length_from <= 1,
                  "is a share of the nominal length: above 0, up to 1");
    reader.finish();
  }
  if (const Value* layout = table.find_table("layout"))
    rule.layout = read_layout({*layout, diagnostics, name + ".layout"});
  if (const Value* layout = table.find_table("prefill_layout"))
    rule.prefill_layout = read_layout({*layout, diagnostics, name + ".prefill_layout"});
  for (const char* section : {"model", "cluster", "deployment", "engine", "workload"}) {
    if (const Value* settings = table.find_table(section))
      rule.tables.emplace_back(section, *settings);
  }
  for (const char* pool : {"prefill", "decode"}) {
    if (const Value* settings = table.find_table(pool)) rule.pools.emplace_back(pool, *settings);
  }
  table.finish();
  return rule;
}

}  // namespace

bool RuleScope::holds(const ClosedLoopPoint& point, const std::string& model,
                      bool has_experts) const {
  const bool has_ranks = point.layout.attention_ranks > 1, is_apart = point.prefill.has_value();
  const bool is_spread = point.layout.experts > 1;
  const bool has_prefill_ranks = is_apart && point.prefill->attention_ranks > 1;
  return experts.value_or(has_experts) == has_experts &&
         attention_ranks.value_or(has_ranks) == has_ranks &&
         expert_parallel.value_or(is_spread) == is_spread && is_among(systems, point.system) &&
         disaggregated.value_or(is_apart) == is_apart &&
         prefill_attention_ranks.value_or(has_prefill_ranks) == has_prefill_ranks &&
         is_among(formats, point.gemm_format) && launched_tensor(point) >= tensor_at_least &&
         begins_with_any(sources, point.source) && begins_with_any(versions, point.version) &&
         begins_with_any(days, point.day) && is_among(engines, point.engine) &&
         is_among(models, model) && point.users >= users_at_least &&
         (users_below == 0 || point.users < users_below) &&
         (decode_workers == 0 || point.layout.workers == decode_workers) &&
         point.prompt_tokens >= prompt_at_least &&
         (prompt_below == 0 || point.prompt_tokens < prompt_below) &&
         (output_below == 0 || point.output_tokens < output_below) &&
         (tensor_below == 0 || launched_tensor(point) < tensor_below);
}

MeasuredLayout LayoutRule::applied_to(MeasuredLayout layout) const {
  const int shared = layout.tensor * layout.attention_ranks;
  if (expert_parallel) layout.experts = *expert_parallel ? shared : 1;
  if (attention_ranks) {
    layout.attention_ranks = *attention_ranks ? shared : 1;
    layout.tensor = *attention_ranks ? 1 : shared;
  }
  return layout;
}

ServerRules read_server_rules(const Value& root) {
  ServerRules rules;
  Diagnostics diagnostics;
  TableReader reader(root, diagnostics, "");
  reader.read("requests_per_user", rules.requests_per_user);
  reader.expect("requests_per_user", rules.requests_per_user >= 1, "must be at least 1");
  reader.read("calibration_tensor_parallel", rules.calibration_tensor_parallel);
  if (const Value* list = reader.find("rule"); list != nullptr) {
    const auto* entries = std::get_if<ValueArray>(&list->data);
    if (entries == nullptr) {
      reader.fail("rule", "is a list of tables; write [[rule]]");
    } else {
      for (const Value& entry : *entries) {
        const std::string name = fmt::format("rule[{}]", rules.rules.size());
        if (!entry.is_object()) {
          diagnostics.add(entry.position, name + ": must be a table; write [[rule]]");
          continue;
        }
        rules.rules.push_back(read_rule(entry, diagnostics, name));
      }
    }
  }
  reader.finish();
  diagnostics.throw_if_any();
  return rules;
}

ServerRules load_server_rules(const std::filesystem::path& toml) {
  return read_server_rules(load_toml(toml));
}

ServerRules public_server_rules() {
  const auto files = embedded_server_rules();
  const auto found = std::ranges::find(files, "public", &EmbeddedFile::stem);
  FORETOKEN_CHECK(found != files.end(), "public.toml is not embedded");
  return read_server_rules(parse_toml(found->text, "public.toml"));
}

ClosedLoopPoint with_whole_layout(const ServerRules& rules, const ClosedLoopPoint& point,
                                  const std::string& model, bool has_experts) {
  ClosedLoopPoint whole = point;
  for (const ServerRule& rule : rules.rules) {
    if (!rule.scope.holds(point, model, has_experts)) continue;
    whole.layout = rule.layout.applied_to(whole.layout);
    if (whole.prefill) whole.prefill = rule.prefill_layout.applied_to(*whole.prefill);
  }
  return whole;
}

std::int64_t tokens_said(const Value& sum, const ClosedLoopPoint& point) {
  if (const auto* number = std::get_if<std::int64_t>(&sum.data)) return *number;
  const auto fail = [&] {
    throw ConfigError(sum.position,
                      "must be a number or a sum such as \"prompt + users + 64\" of numbers, "
                      "users, rank_users, prompt and output");
  };
  if (!sum.is_string()) fail();
  std::string_view left = std::get<std::string>(sum.data);
  std::int64_t total = 0;
  while (!left.empty()) {
    const std::size_t plus = std::min(left.find('+'), left.size());
    std::string_view term = left.substr(0, plus);
    left.remove_prefix(std::min(plus + 1, left.size()));
    while (term.starts_with(' ')) term.remove_prefix(1);
    while (term.ends_with(' ')) term.remove_suffix(1);
    std::int64_t number = 0;
    const auto parsed = std::from_chars(term.data(), term.data() + term.size(), number);
    if (term == "users") {
      total += point.users;
    } else if (term == "rank_users") {
      total += std::max(1, point.users / point.layout.attention_ranks);
    } else if (term == "prompt") {
      total += point.prompt_tokens;
    } else if (term == "output") {
      total += point.output_tokens;
    } else if (parsed.ec == std::errc() && parsed.ptr == term.data() + term.size()) {
      total += number;
    } else {
      fail();
    }
  }
  return total;
}

}  // namespace foretoken
