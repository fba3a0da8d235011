// [workload.system_prompts]: beginnings that prompts share, such as instructions and the
// definitions of tools. A conversation or trajectory starts with one of them, the popular ones more
// often.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "sim/base/keys.hpp"
#include "sim/base/random.hpp"
#include "workloads/requests/length_distribution.hpp"

namespace foretoken {

struct SystemPrompts {
  int count = 1;
  std::shared_ptr<const LengthDistribution> tokens;
  double popularity_exponent = 1.0;
};

/// nullopt if the table is not there. Reports mistakes.
std::optional<SystemPrompts> read_system_prompts(TableReader& workload,
                                                 const LengthRegistry& lengths);
void describe(const SystemPrompts& prompts, Value& workload);
KeyTable system_prompt_key_table();

/// Lengths of the system prompts, and which of them comes next. Streams: "system_prompts" (lengths)
/// and "system_prompt" (choice).
class SystemPromptDraws {
 public:
  /// Without `prompts` there is one of no tokens.
  SystemPromptDraws(const std::optional<SystemPrompts>& prompts, const RandomStreams& random);

  [[nodiscard]] std::int64_t tokens(std::size_t prompt) const {
    return tokens_.empty() ? 0 : tokens_[prompt];
  }
  std::size_t choose();

 private:
  RandomStream random_;
  std::vector<std::int64_t> tokens_;
  std::vector<double> popularity_;  // cumulative
};

}  // namespace foretoken
