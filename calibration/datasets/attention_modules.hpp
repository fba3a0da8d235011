// Whole attention blocks as AIConfigurator timed them: mla_*, dsa_*, msa_* and dsv4_*_module tables
// of vLLM and SGLang, each row with the kernels that the simulator expands such a block into. They
// train nothing and judge the sum.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "hardware/gpu.hpp"
#include "kernels/kernel.hpp"

namespace foretoken {

struct MeasuredModule {
  std::string name;  // "dsa, prefill"
  std::string gpu, framework;
  KernelSequence kernels;  // as in a step, of one rank, without norms before and sums behind
  std::int64_t tokens;     // of the step
  Seconds time;
};

/// Calls `visit` with every row below a FORETOKEN_DATA folder that is worth judging by. Left out:
/// rows that carry the host's launches (eager prefill near its floor, SGLang's largest decodes),
/// MSA's prompts of one token in SGLang, and heads that no division of the model gives. Where
/// vLLM's harness ran PyTorch's operations one by one, a kernel counts as many calls as these.
void visit_attention_modules(const std::filesystem::path& folder,
                             const std::function<void(const MeasuredModule&)>& visit);

}  // namespace foretoken
