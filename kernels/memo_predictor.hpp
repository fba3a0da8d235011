// Remembers what another predictor said about each kernel on one GPU, so that a kernel seen before
// costs one hash lookup. The memory it may take is bounded: when it is full it forgets everything
// and starts again, which is deterministic.
// Not for use from several threads at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>

#include "kernels/predictor.hpp"

namespace foretoken {

class MemoPredictor final : public Predictor {
 public:
  /// 64 MiB hold about 250,000 kernels without lists of sequences.
  static constexpr Bytes memory_default = Bytes(64.0 * (1 << 20));

  MemoPredictor(std::unique_ptr<Predictor> inner, GpuSpec gpu, Bytes memory_max = memory_default);

  /// `gpu` must be the one given to the constructor (checked by name). Errors are not remembered.
  [[nodiscard]] Prediction predict(const Kernel& kernel, const GpuSpec& gpu) const override;
  /// The same for the GPU of the constructor.
  [[nodiscard]] Prediction predict(const Kernel& kernel) const;

  [[nodiscard]] std::size_t size() const { return memo_.size(); }
  [[nodiscard]] const GpuSpec& gpu() const { return gpu_; }
  /// The predictor behind the memo, for kernels that hardly ever repeat.
  [[nodiscard]] const Predictor& inner() const { return *inner_; }

 private:
  // Not noexcept on purpose: libstdc++ then stores each node's hash instead of recomputing it.
  struct Hash {
    std::size_t operator()(const Kernel& kernel) const { return kernel_hash(kernel); }
  };

  Prediction remember(const Kernel& kernel, const Prediction& prediction) const;

  std::unique_ptr<Predictor> inner_;
  GpuSpec gpu_;
  double memory_max_;
  // A memo is no state that shows: predict() answers the same with and without it.
  mutable std::unordered_map<Kernel, Prediction, Hash> memo_;
  mutable double memory_used_ = 0;
};

}  // namespace foretoken
