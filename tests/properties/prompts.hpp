// Prompts with real tokens that branch from each other, and the hashes of their chunks.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "sim/serving/sequence.hpp"

namespace foretoken {

constexpr int chunk_tokens = 32;

/// A prompt as tokens, and the hashes of its whole chunks.
struct Prompt {
  std::vector<int> tokens;
  [[nodiscard]] std::vector<int> beginning(std::size_t chunks) const {
    return {tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(chunks * chunk_tokens)};
  }
  [[nodiscard]] std::vector<std::uint64_t> hashes() const {
    std::vector<std::uint64_t> all;
    std::uint64_t hash = 1469598103934665603ULL;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      hash = (hash ^ static_cast<std::uint64_t>(tokens[i] + 1)) * 1099511628211ULL;
      if ((i + 1) % chunk_tokens == 0) all.push_back(hash);
    }
    return all;
  }
};

/// Prompts that branch from each other at random places.
inline Prompt random_prompt(std::mt19937_64& random, const std::vector<Prompt>& earlier) {
  Prompt prompt;
  if (!earlier.empty() && random() % 4 != 0) {
    const Prompt& other = earlier[random() % earlier.size()];
    const std::size_t kept = random() % (other.tokens.size() + 1);
    prompt.tokens.assign(other.tokens.begin(),
                         other.tokens.begin() + static_cast<std::ptrdiff_t>(kept));
  }
  const std::size_t more = 1 + random() % 150;
  for (std::size_t i = 0; i < more; ++i) prompt.tokens.push_back(static_cast<int>(random() % 3));
  return prompt;
}

inline Sequence sequence_of(const Prompt& prompt) {
  Sequence sequence;
  sequence.prompt_tokens = static_cast<std::int64_t>(prompt.tokens.size());
  sequence.output_tokens = 1;
  sequence.prefix_chunk_tokens = chunk_tokens;
  sequence.prefix_hashes = prompt.hashes();
  return sequence;
}

}  // namespace foretoken
