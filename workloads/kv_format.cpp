#include "workloads/kv_format.hpp"

#include <fmt/format.h>

namespace foretoken {

std::string kv_format_problem(DType dtype, const GpuSpec& gpu) {
  const bool is_of_blocks =
      dtype == DType::fp8_block || dtype == DType::mxfp4 || dtype == DType::nvfp4;
  if (is_of_blocks || is_weight_only(dtype)) {
    return "a KV cache is held in bf16, fp16, fp8, int8 or fp32";
  }
  if (dtype == DType::fp8 && gpu.tensor_rate(DType::fp8) <= FlopsPerSecond(0.0)) {
    return fmt::format(
        "{} has no fp8, and attention that converts it in software was not measured; use int8, "
        "bf16 or fp16",
        gpu.name);
  }
  return "";
}

}  // namespace foretoken
