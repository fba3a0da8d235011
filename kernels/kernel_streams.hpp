// Kernels of a layer on several streams at once, in steps small enough to leave the GPU room:
// shared experts beside the router and the routed ones (vllm-project/vllm#26440, SGLang's
// DeepseekV2MoE.forward_normal_dual_stream, TensorRT-LLM's maybe_execute_in_parallel), compressors
// and the index beside the queries of DeepSeek-V4. What runs aside finds SMs and bandwidth that the
// first lane leaves: on an H200, two fifths of its time prolong a fork of up to 64 tokens, all of
// it one of 512 (calibration/measure/stream_forks.py: products of DeepSeek-V4's layers, experts of
// DeepSeek-V3). Together they take no less than the longest lane, and no less than the bytes and
// operations of all at peak.
#pragma once

#include <functional>
#include <vector>

#include "hardware/gpu.hpp"
#include "kernels/kernel.hpp"

namespace foretoken {

/// By how much of their time kernels that run aside prolong their fork.
class StreamShares {
 public:
  /// Of all forks in `kernels`, a step's of `tokens` tokens. `time` is of one call.
  StreamShares(const KernelSequence& kernels, std::int64_t tokens,
               const std::function<Seconds(const Kernel&)>& time, const GpuSpec& gpu);

  /// 1 for what does not run aside.
  [[nodiscard]] double of(const StreamLane& stream) const {
    return stream.is_aside() ? shares_[static_cast<std::size_t>(stream.fork)] : 1;
  }

 private:
  std::vector<double> shares_;  // by fork
};

}  // namespace foretoken
