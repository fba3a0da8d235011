// What a sequence holds of the KV pool beside a block for every so many of its tokens: the state of
// recurrences, which is as large however long the sequence is, and the keys within sliding windows,
// which are given back as the window moves on (vLLM's hybrid KV cache manager takes all three from
// one pool). In blocks; nothing for a model of full attention alone.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace foretoken {

struct KvBeside {
  struct Window {
    std::int64_t tokens = 0;
    double blocks_per_token = 0;
  };
  double state_blocks = 0;
  std::vector<Window> windows;

  [[nodiscard]] bool is_none() const { return state_blocks == 0 && windows.empty(); }

  /// Of a sequence that holds `tokens` tokens. Never falls as they grow.
  [[nodiscard]] std::int64_t blocks(std::int64_t tokens) const {
    if (is_none() || tokens <= 0) return 0;
    double sum = state_blocks;
    for (const Window& window : windows) {
      sum += static_cast<double>(std::min(tokens, window.tokens)) * window.blocks_per_token;
    }
    constexpr double rounding = 1e-9;  // a whole number of blocks stays one
    return static_cast<std::int64_t>(std::ceil(sum - rounding));
  }
};

}  // namespace foretoken
