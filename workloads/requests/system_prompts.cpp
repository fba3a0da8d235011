#include "workloads/requests/system_prompts.hpp"

#include <algorithm>
#include <cmath>

#include "workloads/requests/traffic_keys.hpp"

namespace foretoken {
namespace {

constexpr int system_prompts_max = 1'000'000;

Keys<SystemPrompts> system_prompt_keys(const LengthRegistry& lengths) {
  using S = SystemPrompts;
  return {
      {"count",
       &S::count,
       {.range = between(1, system_prompts_max, "must be from 1 to 1000000")},
       "Different system prompts in use; each session or request begins with one of them."},
      length_key<S>(
          {.name = "tokens", .fallback = "required", .meaning = "Length of a system prompt."},
          &S::tokens, {LengthOf::prompt, nullptr}, lengths),
      {"exponent",
       &S::popularity_exponent,
       {.range = between(0, 10, "must be from 0 (all equally popular) to 10")},
       "How unequally popular they are: the k-th is chosen in proportion to k^-exponent. 0: all "
       "equally."},
  };
}

}  // namespace

std::optional<SystemPrompts> read_system_prompts(TableReader& workload,
                                                 const LengthRegistry& lengths) {
  const Value* options = workload.find_table("system_prompts");
  if (options == nullptr) return std::nullopt;
  TableReader table(*options, workload.diagnostics(), "workload.system_prompts");
  SystemPrompts prompts;
  system_prompt_keys(lengths).read(table, prompts);
  table.finish();
  return prompts;
}

void describe(const SystemPrompts& prompts, Value& workload) {
  const LengthRegistry lengths = length_registry();
  workload.set("system_prompts", system_prompt_keys(lengths).table(prompts));
}

KeyTable system_prompt_key_table() {
  const LengthRegistry lengths = length_registry();
  return {"workload.system_prompts", "", "Prefixes that prompts share.",
          system_prompt_keys(lengths).notes()};
}

SystemPromptDraws::SystemPromptDraws(const std::optional<SystemPrompts>& prompts,
                                     const RandomStreams& random)
    : random_(random.stream("system_prompt")) {
  if (!prompts) return;
  RandomStream lengths = random.stream("system_prompts");
  double sum = 0.0;
  for (int i = 0; i < prompts->count; ++i) {
    tokens_.push_back(prompts->tokens->sample(lengths, static_cast<std::size_t>(i)));
    sum += std::pow(i + 1, -prompts->popularity_exponent);
    popularity_.push_back(sum);
  }
}

std::size_t SystemPromptDraws::choose() {
  if (tokens_.empty()) return 0;
  const double draw = uniform(random_) * popularity_.back();
  const auto chosen = std::ranges::upper_bound(popularity_, draw);
  return std::min(static_cast<std::size_t>(chosen - popularity_.begin()), tokens_.size() - 1);
}

}  // namespace foretoken
