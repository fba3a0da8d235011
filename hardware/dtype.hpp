// Number formats of weights, activations and KV cache.
#pragma once

#include <array>
#include <string_view>

#include "sim/base/enum_names.hpp"

namespace foretoken {

/// fp8 is one scale a tensor (or token), fp8_block one scale per 128x128 weight block and 1x128
/// activation block; nvfp4 one fp8 scale per 16 values, mxfp4 one power-of-two scale per 32.
/// int8 quantises activations too (w8a8). w4a16, w4a16_g32 and w8a16 are integer weights that are
/// multiplied in 16 bit (AWQ, GPTQ, compressed-tensors): one 16-bit scale per 128 weights, per 32,
/// and per output channel.
enum class DType { bf16, fp16, fp8, fp8_block, nvfp4, mxfp4, int8, fp32, w4a16, w4a16_g32, w8a16 };

template <>
struct EnumNames<DType> {
  static constexpr auto names =
      std::to_array<std::string_view>({"bf16", "fp16", "fp8", "fp8_block", "nvfp4", "mxfp4", "int8",
                                       "fp32", "w4a16", "w4a16_g32", "w8a16"});
};

inline constexpr std::size_t dtype_count = EnumNames<DType>::names.size();

/// Bytes of one stored element, block scales included (nvfp4: 4 bits + 8/16; mxfp4: 4 + 8/32;
/// w4a16: 4 + 16/128, w4a16_g32: 4 + 16/32; fp8_block: fp32 scale per 128x128 is below 0.1 % and
/// left out, as are scales per channel; zero points, 4 bits a group, are below 1 %).
constexpr double bytes_per_element(DType dtype) {
  switch (dtype) {
    case DType::fp32:
      return 4.0;
    case DType::bf16:
    case DType::fp16:
      return 2.0;
    case DType::nvfp4:
      return 0.5 + 1.0 / 16.0;
    case DType::mxfp4:
      return 0.5 + 1.0 / 32.0;
    case DType::w4a16:
      return 0.5 + 2.0 / 128.0;
    case DType::w4a16_g32:
      return 0.5 + 2.0 / 32.0;
    case DType::fp8:
    case DType::fp8_block:
    case DType::int8:
    case DType::w8a16:
      return 1.0;
  }
  return 0.0;
}

/// The format activations are held in between kernels when weights are `weights`: 16 bit
/// (quantised just before a matrix product), except fp32.
constexpr DType activation_dtype(DType weights) {
  switch (weights) {
    case DType::fp32:
      return DType::fp32;
    case DType::fp16:
      return DType::fp16;
    default:
      return DType::bf16;
  }
}

/// Weights alone are narrow: products are of 16-bit operands, and activations are not quantised.
constexpr bool is_weight_only(DType dtype) {
  return dtype == DType::w4a16 || dtype == DType::w4a16_g32 || dtype == DType::w8a16;
}

/// The format whose tensor rate products of `dtype` run at; itself but for the formats that differ
/// in their scales alone (fp8_block) or in memory alone (w4a16 …).
constexpr DType rate_format(DType dtype) {
  if (dtype == DType::fp8_block) return DType::fp8;
  return is_weight_only(dtype) ? activation_dtype(dtype) : dtype;
}

}  // namespace foretoken
