// One case of `foretoken predict`: a JSON object (or any table) that names a kernel and its shape.
// The keys are stable: datasets are written with them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernels/kernel.hpp"
#include "sim/base/value.hpp"

namespace foretoken {

struct KernelCase {
  Kernel kernel;
  std::string framework = "vllm";  // vllm, sglang, trtllm or pytorch: whose implementation
  std::string kernel_source;       // which of its implementations; "" = what it would choose
  int nodes = 1;                   // collectives: over how many nodes the ranks are spread
};

/// Kernels a case may name, in the order they are documented.
std::vector<std::string_view> kernel_case_names();

/// Reads
///   gemm                          m, n, k, [dtype]
///   attention                     query_heads, kv_heads, head_dim, query_tokens[],
///                                 context_tokens[] (queries included), [dtype, kv_dtype, causal,
///                                 window, page_tokens]
///   mla                           query_heads, query_tokens[], context_tokens[], [dtype, kv_dtype,
///                                 latent_dim, rope_dim]
///   rms_norm, fused_add_rms_norm, silu_and_mul, embedding      tokens, dim, [dtype]
///   qk_norm, rope                 tokens, heads, head_dim, [dtype]
///   kv_write                      tokens, kv_heads, head_dim, [dtype, kv_dtype]
///   sampling                      rows, vocabulary
///   topk_routing                  tokens, experts, topk
///   fused_moe                     tokens, experts, topk, hidden, intermediate, [dtype, tp, ep],
///   and
///                                 one of routing ("balanced", "power_law:1.2", "balancedness:0.8",
///                                 a balancedness or a histogram), balancedness, histogram[]
///   all_reduce, all_gather, reduce_scatter, all_to_all, send_recv      ranks, bytes, [nodes]
/// and for every kernel [framework, kernel_source, id]. dtype defaults to bf16, kv_dtype to the
/// format of the activations. Throws ConfigError with every mistake of the case.
KernelCase read_kernel_case(const Value& object);

}  // namespace foretoken
