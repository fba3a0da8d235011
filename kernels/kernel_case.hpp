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
  /// Whose code, as the case names it; the kernel carries it too where its type has a choice.
  Implementation implementation;
  /// What the reader could not take at its word, for the answer: an unknown kernel_source.
  std::string note;
  int nodes = 1;  // collectives: over how many nodes the ranks are spread
  /// Collectives: whose choice or which algorithm, as `[deployment] all_reduce` takes it, the
  /// framework's version ("" = the newest known) and NCCL's protocol.
  std::string algorithm = "auto", framework_version = {}, nccl_protocol = "auto";
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
///   sampling                      rows, vocabulary, [method: top_p, greedy]
///   draft_verification            rows, sequences, vocabulary, [method: top_p, greedy]
///   topk_routing                  tokens, experts, topk
///   fused_moe                     tokens, experts, topk, hidden, intermediate, [dtype, tp, ep,
///                                 ungated: two matrices an expert, by default as the published
///                                 model of these sizes has it; placed_by_load, redundant: copies
///                                 of experts, as engines that balance them lay them out], and one
///                                 of routing ("balanced",
///                                 "power_law:1.2", "balancedness:0.8", a balancedness or a
///                                 histogram), balancedness, histogram[]
///   all_reduce, all_gather, reduce_scatter, all_to_all, send_recv,
///   broadcast                     ranks, bytes, [nodes, algorithm, framework_version,
///   nccl_protocol]
///   expert_dispatch, expert_combine      ranks, bytes, experts, topk, [mode, nodes, groups,
///   topk_groups]
/// and for every kernel [framework, kernel_source, cold, id]. `cold` asks for inputs from DRAM: for
/// products, attention and experts as in serving, instead of the repeated buffer of tables
/// (default false here, where tables are read; `foretoken predict` takes true); for norms, rope,
/// activations, sampling and routing instead of what the kernel before has left in the L2 (default
/// true). Embedding and kv_write are always cold. Keys that are unknown and near no known one are
/// the caller's own and pass; a likely misspelling is a mistake. A kernel_source that is not
/// recognised is priced as what the framework would choose, and `note` says so. dtype defaults to
/// bf16, kv_dtype to the format of the activations. Throws ConfigError with every mistake of the
/// case.
KernelCase read_kernel_case(const Value& object);

}  // namespace foretoken
