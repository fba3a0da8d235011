// Products of adapters (LoRA) beside a model's own.
#pragma once

#include <cstdint>
#include <string_view>
#include <tuple>

#include "hardware/dtype.hpp"
#include "kernels/kernel_fields.hpp"

namespace foretoken {

/// out[t] += in[t] W^T, tokens of `adapters` adapters in one launch, each with its own W: the
/// product down to the adapters' rank (Punica's shrink) or up from it (expand). W is in 16 bit, and
/// whatever the model's own products are in, `in` and `out` are too.
struct LowRank {
  static constexpr std::string_view type_name = "low_rank";
  std::int64_t tokens = 0, adapters = 0, in = 0, out = 0;
  DType dtype = DType::bf16;
  static constexpr auto fields() {
    return std::tuple(KernelField{"tokens", &LowRank::tokens},
                      KernelField{"adapters", &LowRank::adapters}, KernelField{"in", &LowRank::in},
                      KernelField{"out", &LowRank::out}, KernelField{"dtype", &LowRank::dtype});
  }
  friend bool operator==(const LowRank&, const LowRank&) = default;

  /// Bytes of one adapter's part.
  [[nodiscard]] double weights_of_one() const {
    return static_cast<double>(in) * static_cast<double>(out) *
           bytes_per_element(activation_dtype(dtype));
  }
};

}  // namespace foretoken
