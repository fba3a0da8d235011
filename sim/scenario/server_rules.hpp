// What is known of measured servers beyond their rows: a TOML file of rules, each with the rows it
// is for and what it sets for them, later ones over earlier ones.
//   requests_per_user = 10            each user sends so many, one after the other
//   calibration_tensor_parallel = 4   rows of this layout were looked at to choose the settings
//   [[rule]]
//   about = "why, and where it is from"
//   where = { engines = ["vllm"], sources = ["2026-"], prompt_at_least = 8000 }
//   [rule.clients]
//   length_from = 0.8                 lengths are spread evenly from this share of the nominal ones
//   [rule.engine]                     keys of the scenario's tables: model, engine, workload …
//   sequences_max = "users"           or a sum of numbers, users, rank_users (an attention rank's
//                                     part of them), prompt and output
//   [rule.layout]                     what rows leave out of the layout; other rules' conditions
//   expert_parallel = true            and sums see it: experts are spread over all tensor ranks,
//   attention_ranks = true            which are attention ranks of one GPU each
//   [rule.prefill_layout]             the same of the pool that prefills, or that it has none,
//   attention_ranks = false           where rows contradict what ran
//   [rule.decode]                     keys of [engine] for the pool that decodes, where others
//   sequences_max = 2                 prefill; [rule.prefill] for those
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/table_reader.hpp"
#include "sim/base/value.hpp"
#include "workloads/measurements/closed_loop_points.hpp"

namespace foretoken {

/// Which rows a rule is for: every condition that is given has to be met.
struct RuleScope {
  std::vector<std::string> sources, versions;   // beginnings
  std::vector<std::string> days;                // beginnings, of those they were measured on
  std::vector<std::string> engines, models;     // models by their names here
  std::vector<std::string> systems;             // as the rows call them: "h100_sxm"
  std::vector<std::string> formats;             // of products, as the rows call them: "nvfp4"
  std::optional<bool> experts;                  // whether the model has any
  std::optional<bool> attention_ranks;          // whether several share the experts
  std::optional<bool> expert_parallel;          // whether experts are spread over ranks
  std::optional<bool> disaggregated;            // whether others compute its prompts
  std::optional<bool> prefill_attention_ranks;  // of those others
  int users_at_least = 0, users_below = 0;
  int prompt_at_least = 0, prompt_below = 0, output_below = 0;
  int decode_workers = 0;  // 0 = any number
  int tensor_below = 0, tensor_at_least = 0;

  /// `has_experts` is of the model called `model`.
  [[nodiscard]] bool holds(const ClosedLoopPoint& point, const std::string& model,
                           bool has_experts) const;
};

/// What a rule says of a layout; nullopt: what the row says.
struct LayoutRule {
  std::optional<bool> expert_parallel;  // experts over all GPUs, or each on all of them
  std::optional<bool> attention_ranks;  // as many as GPUs, or one

  [[nodiscard]] MeasuredLayout applied_to(MeasuredLayout layout) const;
};

struct ServerRule {
  RuleScope scope;
  double length_from = 0;  // 0 = not said here
  LayoutRule layout, prefill_layout;
  ValueObject tables;  // of the scenario
  ValueObject pools;   // engine keys of "prefill" and "decode", where these are apart
};

struct ServerRules {
  std::int64_t requests_per_user = 10;
  int calibration_tensor_parallel = 0;  // 0 = no row was looked at
  std::vector<ServerRule> rules;
};

/// Throws ConfigError with the mistakes of the file; keys of the scenario's tables are looked at
/// when a scenario is read.
ServerRules load_server_rules(const std::filesystem::path& toml);
ServerRules read_server_rules(const Value& root);
/// Of public tables' servers: examples/servers/public.toml, embedded.
ServerRules public_server_rules();

/// The point with the layout that the rules say it had. `has_experts` is of the model called
/// `model`.
ClosedLoopPoint with_whole_layout(const ServerRules& rules, const ClosedLoopPoint& point,
                                  const std::string& model, bool has_experts);

/// "prompt + users + 64" for this point. Throws ConfigError at the value for another text.
std::int64_t tokens_said(const Value& sum, const ClosedLoopPoint& point);

}  // namespace foretoken
