// Shared experts on a stream of their own, beside the router and the routed experts of their layer:
// vLLM (vllm-project/vllm#26440), SGLang (DeepseekV2MoE.forward_normal_dual_stream) and
// TensorRT-LLM (maybe_execute_in_parallel) in steps small enough to leave the GPU room. Both read
// and multiply what they would alone, so that together they take no less than either, and no less
// than the bytes and operations of both at peak.
#pragma once

#include <functional>

#include "hardware/gpu.hpp"
#include "kernels/kernel.hpp"

namespace foretoken {

/// The share of the shared experts' time by which they prolong the routed ones of `kernels`: 0 if
/// they hide behind these, 1 if the sequence marks none that run beside. `time` is of one call.
double time_beside(const KernelSequence& kernels, const std::function<Seconds(const Kernel&)>& time,
                   const GpuSpec& gpu);

}  // namespace foretoken
