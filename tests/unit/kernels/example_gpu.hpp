// A GPU with an H200's rates in round numbers, built by hand so that these tests depend on no
// specification file, and a kernel from a line of JSON.
#pragma once

#include <string_view>

#include "hardware/gpu.hpp"
#include "kernels/kernel_case.hpp"
#include "sim/base/json.hpp"

namespace foretoken {

/// bf16 989.5 Tflop/s (fp8 twice that, no int8 or 4-bit path), fp32 61.84 Tflop/s = 30.92 T lanes,
/// XU 3.865 T/s, DRAM 4.8 TB/s, L2 10 TB/s, launch 2.4 us.
inline GpuSpec example_gpu() {
  GpuSpec gpu;
  gpu.name = "example";
  gpu.title = "Example GPU";
  gpu.sm_count = 132;
  gpu.clock = Hertz(989.5e12 / (132 * 4096));
  const auto set = [&](DType dtype, double ops) {
    gpu.tensor_ops_per_cycle_sm[static_cast<std::size_t>(dtype)] = ops;
  };
  set(DType::bf16, 4096);
  set(DType::fp16, 4096);
  set(DType::fp8, 8192);
  set(DType::fp8_block, 8192);
  gpu.fma_ops_per_cycle_sm = 128;
  gpu.xu_ops_per_cycle_sm = 16;
  gpu.dram_bandwidth = BytesPerSecond(4.8e12);
  gpu.l2_bandwidth = BytesPerSecond(10e12);
  gpu.launch_latency = Seconds(2.4e-6);
  return gpu;
}

inline Kernel kernel_of(std::string_view json) {
  return read_kernel_case(parse_json(json, {"case", 1})).kernel;
}

}  // namespace foretoken
