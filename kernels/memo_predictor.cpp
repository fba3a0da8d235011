#include "kernels/memo_predictor.hpp"

#include <utility>

namespace foretoken {
namespace {

/// Of the entry itself, its node and its bucket: next pointer, hash, bucket pointer, allocator.
constexpr std::size_t entry_bytes = sizeof(std::pair<const Kernel, Prediction>) + 4 * sizeof(void*);

template <class Element>
std::size_t heap_bytes(const std::vector<Element>& elements) {
  return elements.size() * sizeof(Element);
}

/// What a copy of the kernel holds besides itself: lists of sequences and histograms.
std::size_t list_bytes(const Kernel& kernel) {
  if (const auto* attention = std::get_if<Attention>(&kernel)) {
    return heap_bytes(attention->load.sequences);
  }
  if (const auto* mla = std::get_if<Mla>(&kernel)) return heap_bytes(mla->load.sequences);
  if (const auto* index = std::get_if<KeyIndexer>(&kernel))
    return heap_bytes(index->load.sequences);
  if (const auto* sparse = std::get_if<SparseAttention>(&kernel)) {
    return heap_bytes(sparse->load.sequences);
  }
  if (const auto* moe = std::get_if<FusedMoe>(&kernel)) return heap_bytes(moe->routing.counts);
  return 0;
}

}  // namespace

MemoPredictor::MemoPredictor(std::unique_ptr<Predictor> inner, GpuSpec gpu, Bytes memory_max)
    : inner_(std::move(inner)), gpu_(std::move(gpu)), memory_max_(memory_max.value()) {
  FORETOKEN_CHECK(inner_ != nullptr, "a memo around no predictor");
}

Prediction MemoPredictor::predict(const Kernel& kernel, const GpuSpec& gpu) const {
  FORETOKEN_CHECK(gpu.name == gpu_.name, "a memo for {} was asked about {}", gpu_.name, gpu.name);
  return predict(kernel);
}

Prediction MemoPredictor::predict(const Kernel& kernel) const {
  const auto known = memo_.find(kernel);
  return known != memo_.end() ? known->second : remember(kernel, inner_->predict(kernel, gpu_));
}

Prediction MemoPredictor::remember(const Kernel& kernel, const Prediction& prediction) const {
  const auto bytes = static_cast<double>(entry_bytes + list_bytes(kernel));
  if (memory_used_ + bytes > memory_max_) {
    memo_.clear();
    memory_used_ = 0;
  }
  if (bytes <= memory_max_) {
    memo_.emplace(kernel, prediction);
    memory_used_ += bytes;
  }
  return prediction;
}

}  // namespace foretoken
