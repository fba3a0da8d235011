// Work of a fused mixture-of-experts layer on the busiest rank. Expert parallelism gives each rank
// whole experts, tensor parallelism a slice of every expert's width. Weights are read once for each
// expert that has at least one token, which is what makes routing matter in decode.
#include <algorithm>

#include "kernels/expert_load.hpp"
#include "kernels/kernel_work.hpp"

namespace foretoken {

KernelWork moe_work(const FusedMoe& kernel) {
  const ExpertLoad load = busiest_rank_load(kernel);
  const double assignments = load.assignments;
  const auto tokens = static_cast<double>(kernel.tokens);
  const auto hidden = static_cast<double>(kernel.hidden);
  const double width = static_cast<double>(kernel.intermediate) / kernel.tp;
  const double weight_size = bytes_per_element(kernel.dtype);
  const double activation_size = bytes_per_element(activation_dtype(kernel.dtype));
  const bool quantised = weight_size < activation_size && !is_weight_only(kernel.dtype);
  const double tokens_in = std::min(tokens, assignments);  // those with an expert on this rank

  KernelWork work;
  const double written = kernel.ungated ? 1 : 2;  // columns of the first product, in widths
  const double products = written + 1;            // (gate and) up, down
  work.tensor_flops = 2 * products * assignments * hidden * width;
  work.tensor_dtype = kernel.dtype;
  // SiLU: exp2, reciprocal; with the multiplication four operations. ReLU^2 takes two.
  work.xu_ops = kernel.ungated ? 0 : 2 * assignments * width;
  work.fma_ops = 2 * written * assignments * width + assignments * hidden;  // and the weighted sum
  work.weight_bytes = Bytes(load.active * products * hidden * width * weight_size);
  const double in_and_out = (tokens_in + tokens) * hidden * activation_size;
  const double quantised_in = quantised ? tokens_in * hidden * weight_size : 0;
  work.dram_bytes = work.weight_bytes + Bytes(in_and_out + quantised_in);
  // Handed on between the launches, written once and read once: gate and up, the activation's
  // result, the down projection's rows before their weighted sum; where the format is below 16 bit
  // also both products' quantised inputs.
  const double handed_on = assignments * (products * width + hidden) * 2 * activation_size;
  const double quantised_handed_on =
      quantised ? tokens_in * hidden * weight_size + assignments * width * 2 * weight_size : 0;
  work.l2_bytes = work.dram_bytes + Bytes(handed_on + quantised_handed_on);
  return work;
}

}  // namespace foretoken
