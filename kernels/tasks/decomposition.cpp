// Finds the decomposer of a kernel: resolves whose code runs it, looks that source up, and checks
// that the GPU has the pipes the launches want. Cutting itself is in decomposers/.
#include "kernels/tasks/decomposition.hpp"

#include "kernels/tasks/decomposers/decomposer.hpp"

namespace foretoken {
namespace {

template <class Kind>
Decomposition by_source(std::span<const DecomposerEntry<Kind>> entries, const Kind& kernel,
                        const GpuSpec& gpu) {
  const KernelSource source = resolve_implementation(kernel, gpu).source;
  for (const DecomposerEntry<Kind>& entry : entries) {
    if (entry.source == source) return entry.decompose(kernel, gpu);
  }
  throw PredictionError(
      fmt::format("{} has no {} to decompose", enum_name(source), kernel_name(Kernel(kernel))));
}

struct Decomposer {
  const GpuSpec& gpu;

  Decomposition operator()(const Gemm& k) const { return by_source(gemm_decomposers(), k, gpu); }
  /// The tasks of one product, as often as there are products.
  Decomposition operator()(const BatchedGemm& k) const {
    Decomposition result = (*this)(Gemm{.m = k.m, .n = k.n, .k = k.k, .dtype = k.dtype});
    for (Launch& launch : result.launches) launch.repeats *= k.batch;
    result.approximation = "each product is cut as if it were launched alone";
    return result;
  }
  Decomposition operator()(const Attention& k) const {
    return by_source(attention_decomposers(), k, gpu);
  }
  Decomposition operator()(const Mla& k) const { return by_source(mla_decomposers(), k, gpu); }
  Decomposition operator()(const FusedMoe& k) const { return by_source(moe_decomposers(), k, gpu); }
  Decomposition operator()(const RmsNorm& k) const { return decompose_rms_norm(k, gpu); }
  Decomposition operator()(const FusedAddRmsNorm& k) const {
    return decompose_fused_add_rms_norm(k, gpu);
  }
  Decomposition operator()(const QkNorm& k) const { return decompose_qk_norm(k, gpu); }
  Decomposition operator()(const SiluAndMul& k) const { return decompose_silu_and_mul(k, gpu); }
  Decomposition operator()(const Rope& k) const { return decompose_rope(k, gpu); }
  Decomposition operator()(const KvWrite& k) const { return decompose_kv_write(k, gpu); }
  Decomposition operator()(const Embedding& k) const { return decompose_embedding(k, gpu); }
  Decomposition operator()(const Sampling& k) const { return decompose_sampling(k, gpu); }
  Decomposition operator()(const TopKRouting& k) const { return decompose_topk_routing(k, gpu); }
  Decomposition operator()(const StateScan& k) const { return decompose_state_scan(k, gpu); }
  Decomposition operator()(const StateConvolution& k) const {
    return decompose_state_convolution(k, gpu);
  }
  Decomposition operator()(const KeyIndexer& k) const { return decompose_key_indexer(k, gpu); }
  Decomposition operator()(const SparseAttention& k) const {
    return decompose_sparse_attention(k, gpu);
  }
  Decomposition operator()(const HyperConnection& k) const {
    return decompose_hyper_connection(k, gpu);
  }
  /// Priced by its family's formula all the same.
  template <DescribedKernel Kind>
  Decomposition operator()(const Kind&) const {
    throw PredictionError(fmt::format("{} is not cut into tasks", Kind::type_name));
  }
  Decomposition operator()(const Collective& k) const {
    throw PredictionError(
        fmt::format("{} moves data between GPUs: it has no tasks for SMs", enum_name(k.op)));
  }
};

}  // namespace

Decomposition decompose(const Kernel& kernel, const GpuSpec& gpu) {
  Decomposition result = std::visit(Decomposer{gpu}, kernel);
  for (const Launch& launch : result.launches) {
    const bool multiplies = !launch.tasks.empty() && launch.tasks[0].task.tensor_ops > 0;
    const auto dtype = static_cast<std::size_t>(launch.tensor_dtype);
    if (multiplies && gpu.tensor_ops_per_cycle_sm[dtype] == 0) {
      throw PredictionError(
          fmt::format("{} has no tensor path for {}", gpu.name, enum_name(launch.tensor_dtype)));
    }
  }
  return result;
}

}  // namespace foretoken
