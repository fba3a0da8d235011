// What prompts on their way have in common and which images they hold, for `--record`: a record of
// the simulation has neither.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "sim/base/ids.hpp"
#include "sim/live/completion_request.hpp"

namespace foretoken {

class RecordedPrompts {
 public:
  /// `block_tokens`: prompt tokens that each of `asked`'s prefix hashes stands for.
  void note(RequestId id, const CompletionRequest& asked, int block_tokens);
  /// `,"images":[...]` as workloads/requests/trace_media.hpp reads them, and with `block_tokens`
  /// `,"prefix_block_tokens":N,"prefix_hashes":[...]` of blocks of that size, as the trace format
  /// `served` does; forgotten then. `block_tokens`: a multiple of the one noted; 0 = no prefixes.
  std::string take(RequestId id, int block_tokens);

 private:
  struct Prompt {
    std::string images;
    std::vector<std::uint64_t> prefix_hashes;
    int block_tokens;
  };
  [[nodiscard]] std::string prefixes(const Prompt& prompt, int block_tokens);

  std::unordered_map<std::uint32_t, Prompt> prompts_;  // by id, never walked
  /// Hashes take 64 bits, which JSON's readers do not all keep: they are numbered as they come.
  std::unordered_map<std::uint64_t, std::size_t> numbers_;
};

}  // namespace foretoken
