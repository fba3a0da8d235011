#include "sim/serving/cuda_graphs.hpp"

#include <algorithm>

namespace foretoken {

std::int64_t CudaGraphs::replayed(const BatchShape& batch) const {
  const bool is_decode = batch.attention.prefill.sequences == 0;
  if (batch.tokens == 0 || (!is_decode && !with_prefill)) return 0;
  const auto fitting = std::ranges::lower_bound(sizes, batch.tokens);
  return fitting == sizes.end() ? 0 : *fitting;
}

}  // namespace foretoken
