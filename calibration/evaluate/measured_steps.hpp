// Whole steps of an engine, put together from measurements of its layers, to see what kernel errors
// come to when they add up. The only engine with such tables is vLLM 0.19 with Llama-3.1-8B on an
// RTX 4090 (FORETOKEN_DATA/kernels/rtx4090_vllm019).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "calibration/datasets/dataset.hpp"

namespace foretoken {

struct MeasuredStep {
  std::string kind;  // "prefill", "decode" or "mixed"
  std::string gpu;
  struct Part {
    Kernel kernel;
    int calls = 1;
  };
  std::vector<Part> parts;
  double measured = 0;  // s, the sum of the parts' measured times
};

/// A step for each measured attention call (a batch of prefill chunk and decodes) whose number of
/// tokens and of sequences the layers were measured for too; nothing is interpolated. It sums
///   32 x (2 fused-add norms, qkv, rotary embedding, attention, output, gate and up, SiLU&Mul,
///   down)
///   + embedding + final norm + language-model head (of as many rows as sequences)
/// and leaves out what was not measured: KV write, sampling and the host.
std::vector<MeasuredStep> measured_steps(const Dataset& dataset);

}  // namespace foretoken
