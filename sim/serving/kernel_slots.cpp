#include "sim/serving/kernel_slots.hpp"

namespace foretoken {

AttentionLoad* attention_load_of(Kernel& kernel) {
  if (auto* attention = std::get_if<Attention>(&kernel)) return &attention->load;
  if (auto* mla = std::get_if<Mla>(&kernel)) return &mla->load;
  if (auto* index = std::get_if<KeyIndexer>(&kernel)) return &index->load;
  if (auto* sparse = std::get_if<SparseAttention>(&kernel)) return &sparse->load;
  return nullptr;
}

StateLoad* state_load_of(Kernel& kernel) {
  if (auto* scan = std::get_if<StateScan>(&kernel)) return &scan->load;
  if (auto* convolution = std::get_if<StateConvolution>(&kernel)) return &convolution->load;
  return nullptr;
}

std::int64_t* row_count_of(Kernel& kernel) {
  if (auto* norm = std::get_if<RmsNorm>(&kernel)) return &norm->tokens;
  if (auto* rope = std::get_if<Rope>(&kernel)) return &rope->tokens;
  if (auto* write = std::get_if<KvWrite>(&kernel)) return &write->tokens;
  return nullptr;
}

bool is_launched_apart(const Kernel& kernel) {
  return std::holds_alternative<StateScan>(kernel) ||
         std::holds_alternative<StateConvolution>(kernel) ||
         std::holds_alternative<KeyIndexer>(kernel) ||
         std::holds_alternative<SparseAttention>(kernel);
}

}  // namespace foretoken
