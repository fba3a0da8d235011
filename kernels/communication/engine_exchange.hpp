// How a serving engine brings the tokens of attention ranks to experts on others, by version and
// GPU: a table (hardware/specs/expert_exchange/*.toml) of what its sources do when no flag says
// otherwise, each entry with its source. A scenario names a way or an engine instead.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/communication/engine_version.hpp"
#include "kernels/expert_exchange.hpp"
#include "sim/base/value.hpp"

namespace foretoken {

/// What an engine does by itself, and where: every condition that is given has to be met.
struct ExchangeChoice {
  Framework engine = Framework::vllm;
  std::string since;              // the first version that does
  std::vector<std::string> gpus;  // beginnings of their names; empty: any
  bool ranks_above_topk = false;  // more ranks than experts a token
  ExpertExchange exchange;
  std::string source;  // file of the engine

  /// "since 1.0, on gb200 or gb300, more ranks than experts a token"
  [[nodiscard]] std::string condition() const;
};

/// What a choice depends on.
struct ExchangeSite {
  std::string_view gpu;  // its name
  int ranks = 1;         // that share the experts
  int topk = 1;          // experts of a token
  bool has_whole_experts = true;
};

class ExchangeChoices {
 public:
  explicit ExchangeChoices(std::vector<ExchangeChoice> choices) : choices_(std::move(choices)) {}

  /// hardware/specs/expert_exchange, compiled in.
  static const ExchangeChoices& built_in();

  /// Of those that hold at the site the newest that is not newer than the version asked for; for a
  /// version older than all, the oldest; of equals the last. nullptr: none is known.
  [[nodiscard]] const ExchangeChoice* find(const EngineVersion& asked,
                                           const ExchangeSite& site) const;
  [[nodiscard]] std::span<const ExchangeChoice> choices() const { return choices_; }

 private:
  std::vector<ExchangeChoice> choices_;
};

/// One engine's file. Throws ConfigError with every mistake of it.
std::vector<ExchangeChoice> read_exchange_choices(const Value& root);

/// The ways by name: those of ExchangeMethod for all steps, and "deepep", which is normal with
/// prompts and low_latency for up to 128 decodes a rank. nullopt: no such way.
std::optional<ExpertExchange> exchange_called(std::string_view name);

/// "auto", the engines and the ways, as a scenario may name them; an engine's name may be followed
/// by a version: "sglang-0.5.9".
std::vector<std::string_view> exchange_names();
bool is_exchange_name(std::string_view name);

/// An exchange and who says so.
struct SettledExchange {
  ExpertExchange exchange;
  std::string chosen_by;  // "sglang 0.5.3: dp_attention.py, …"; "": it was named
};

/// What `name` (one of the above) means for an engine of a version ("" = the newest). Engines that
/// no table knows, such as PyTorch alone, take NCCL's all-to-all.
SettledExchange settle_exchange(std::string_view name, const EngineVersion& own,
                                const ExchangeSite& site);

/// "all_gather"; "all_reduce (prompts), all_gather (decodes)".
std::string exchange_text(const ExpertExchange& exchange);

}  // namespace foretoken
