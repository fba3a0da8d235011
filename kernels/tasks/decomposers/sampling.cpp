// The end of a step and the router of a mixture of experts: kernels that reduce one row of logits.
// Sampling is three launches as PyTorch runs them (cast to fp32, softmax, draw) or two (cast,
// argmax), a CTA a row; top-k routing is one warp a token, eight tokens a CTA.
#include "kernels/tasks/decomposers/decomposer.hpp"

namespace foretoken {
namespace {

constexpr int sampling_threads = 1024;
constexpr int sampling_registers = 32;

}  // namespace

Decomposition decompose_sampling(const Sampling& kernel, const GpuSpec&) {
  const auto logits = static_cast<double>(kernel.vocabulary);
  const auto launch = [&](std::string_view name, const Task& task) {
    return uniform_launch(name, task, kernel.rows, sampling_threads, sampling_registers);
  };
  Decomposition result;
  result.launches.push_back(launch("cast_logits", {.fma_ops = logits, .bytes_loaded = 2 * logits}));
  if (kernel.method == SamplingMethod::greedy) {
    result.launches.push_back(launch("argmax", {.fma_ops = logits, .bytes_loaded = 4 * logits}));
    return result;
  }
  // Two passes: maximum and sum, then the quotient.
  result.launches.push_back(launch(
      "softmax", {.fma_ops = 2 * logits, .xu_ops = 2 * logits, .bytes_loaded = 2 * 4 * logits}));
  result.launches.push_back(launch("draw", {.fma_ops = logits, .bytes_loaded = 4 * logits}));
  return result;
}

Decomposition decompose_topk_routing(const TopKRouting& kernel, const GpuSpec&) {
  constexpr int tokens_cta = 8;
  constexpr int warp_threads = 32;
  const double logits = static_cast<double>(tokens_cta) * kernel.experts;
  const Task task = {
      .fma_ops = (4.0 + kernel.topk) * logits, .xu_ops = logits, .bytes_loaded = 2 * logits};
  Decomposition result;
  result.launches.push_back(uniform_launch("topk_routing", task,
                                           ceil_div(kernel.tokens, tokens_cta),
                                           tokens_cta * warp_threads, sampling_registers));
  return result;
}

}  // namespace foretoken
