#include "sim/serving/cuda_graphs.hpp"

#include <algorithm>

namespace foretoken {

std::int64_t replayed_tokens(const HostSettings& host, const BatchShape& batch) {
  const std::vector<int>& sizes = host.cuda_graph_sizes;
  const bool is_decode = batch.attention.prefill.sequences == 0;
  if (batch.tokens == 0 || (!is_decode && !host.cuda_graph_prefill)) return 0;
  const auto fitting = std::ranges::lower_bound(sizes, batch.tokens);
  return fitting == sizes.end() ? 0 : *fitting;
}

}  // namespace foretoken
