// Work of a fused mixture-of-experts layer on the busiest rank. Expert parallelism gives each rank
// whole experts, tensor parallelism a slice of every expert's width. Weights are read once for each
// expert that has at least one token, which is what makes routing matter in decode.
#include <algorithm>

#include "kernels/kernel_work.hpp"

namespace foretoken {
namespace {

/// Number of the ep ranks that holds expert `expert`. A given histogram is by expert number, and
/// ranks hold consecutive numbers (vLLM's placement). Otherwise only popularity is known, which
/// says nothing about numbers: popular experts are dealt out to the ranks in turn.
std::size_t rank_of(std::size_t expert, const FusedMoe& kernel) {
  const auto ranks = static_cast<std::size_t>(kernel.ep);
  if (kernel.routing.kind != Routing::Kind::histogram) return expert % ranks;
  const std::size_t local = (static_cast<std::size_t>(kernel.experts) + ranks - 1) / ranks;
  return expert / local;
}

/// Balanced routing without building the histogram: the first `extra` experts have one more, and
/// dealt in turn they make rank 0 the busiest.
MoeShare balanced_share(std::int64_t assignments, std::int64_t experts, std::int64_t ranks) {
  const auto held_by_rank_0 = [ranks](std::int64_t count) { return (count + ranks - 1) / ranks; };
  const std::int64_t each = assignments / experts;
  const std::int64_t extra = held_by_rank_0(assignments % experts);
  const std::int64_t held = held_by_rank_0(experts);
  return {held * each + extra, each > 0 ? held : extra};
}

}  // namespace

MoeShare busiest_rank_share(const FusedMoe& kernel) {
  FORETOKEN_CHECK(kernel.experts > 0 && kernel.ep > 0 && kernel.tp > 0, "{} experts, ep {}, tp {}",
                  kernel.experts, kernel.ep, kernel.tp);
  const std::int64_t assignments = kernel.tokens * kernel.topk;
  if (kernel.routing.kind == Routing::Kind::balanced) {
    return balanced_share(assignments, kernel.experts, kernel.ep);
  }
  const auto counts = expert_counts(kernel.routing, assignments, kernel.experts);
  std::vector<MoeShare> shares(static_cast<std::size_t>(kernel.ep));
  for (std::size_t expert = 0; expert < counts.size(); ++expert) {
    MoeShare& share = shares[rank_of(expert, kernel)];
    share.assignments += counts[expert];
    share.active_experts += counts[expert] > 0 ? 1 : 0;
  }
  // The rank with most tokens need not be the one that reads most weights; the layer waits for
  // both.
  MoeShare busiest;
  for (const MoeShare& share : shares) {
    busiest.assignments = std::max(busiest.assignments, share.assignments);
    busiest.active_experts = std::max(busiest.active_experts, share.active_experts);
  }
  return busiest;
}

DType product_format(const FusedMoe& kernel, const GpuSpec& gpu) {
  const bool is_stored_only =
      bytes_per_element(kernel.dtype) < 1 && !(gpu.tensor_rate(kernel.dtype).value() > 0);
  return is_stored_only ? activation_dtype(kernel.dtype) : kernel.dtype;
}

KernelWork moe_work(const FusedMoe& kernel) {
  const MoeShare share = busiest_rank_share(kernel);
  const auto assignments = static_cast<double>(share.assignments);
  const auto tokens = static_cast<double>(kernel.tokens);
  const auto hidden = static_cast<double>(kernel.hidden);
  const double width = static_cast<double>(kernel.intermediate) / kernel.tp;
  const double weight_size = bytes_per_element(kernel.dtype);
  const double activation_size = bytes_per_element(activation_dtype(kernel.dtype));
  const bool quantised = weight_size < activation_size;
  const double tokens_in = std::min(tokens, assignments);  // those with an expert on this rank

  KernelWork work;
  work.tensor_flops = 6 * assignments * hidden * width;  // gate and up (2 width), down (width)
  work.tensor_dtype = kernel.dtype;
  work.xu_ops = 2 * assignments * width;                          // SiLU: exp2, reciprocal
  work.fma_ops = 4 * assignments * width + assignments * hidden;  // SiLU and mul; weighted sum
  work.weight_bytes =
      Bytes(static_cast<double>(share.active_experts) * 3 * hidden * width * weight_size);
  const double in_and_out = (tokens_in + tokens) * hidden * activation_size;
  const double quantised_in = quantised ? tokens_in * hidden * weight_size : 0;
  work.dram_bytes = work.weight_bytes + Bytes(in_and_out + quantised_in);
  // Handed on between the launches, written once and read once: gate and up, the activation's
  // result, the down projection's rows before their weighted sum; where the format is below 16 bit
  // also both products' quantised inputs.
  const double handed_on = assignments * (3 * width + hidden) * 2 * activation_size;
  const double quantised_handed_on =
      quantised ? tokens_in * hidden * weight_size + assignments * width * 2 * weight_size : 0;
  work.l2_bytes = work.dram_bytes + Bytes(handed_on + quantised_handed_on);
  return work;
}

}  // namespace foretoken
