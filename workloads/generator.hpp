// From (model, layout, batch shape) to the kernels of each pipeline stage: the middle of the path
// of a request, between the scheduler that says who runs and the predictor that says how long.
// Order and sharding follow vLLM; ALL shapes are those of one rank. Pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/kernel.hpp"
#include "models/operator_graph.hpp"
#include "models/parallel_layout.hpp"

namespace foretoken {

/// Number formats and settings that do not change from step to step.
struct ExecutionSettings {
  DType dtype = DType::bf16;  // weights (and, through activation_dtype, activations)
  DType kv_dtype = DType::bf16;
  int block_tokens = 16;  // KV page
  Routing routing = {};   // MoE
  /// Whose kernels run. Serving is cold: each layer reads weights of its own.
  Implementation implementation = {.is_cold = true};
};

/// One engine iteration as the kernels see it.
struct BatchShape {
  std::int64_t tokens = 0;      // new tokens of all sequences together
  std::int64_t logit_rows = 0;  // sequences that get a token from this step
  AttentionLoad attention = {};
};

/// What one pipeline stage launches, worked out once; a batch then only fills in its rows. Replicas
/// keep one per stage, since this costs a fraction of expanding the layers for every batch.
class StageProgram {
 public:
  /// `layout` must fit `model` (check_layout). No reference is kept.
  StageProgram(const Transformer& model, const ParallelLayout& layout,
               const ExecutionSettings& settings, int stage);

  /// The kernels for `batch`, in launch order. Layers with the same operators (window, dense or
  /// MoE) are folded into KernelCall::calls where the first of them stands. Tensor-parallel
  /// collectives are included. A later stage begins with "pipeline_all_gather" and all but the last
  /// end in "pipeline_send": vLLM sends hidden states and residual, each rank its 1/TP slice, which
  /// the receiving ranks gather (TP > 1). Without logit_rows there is no LM head. `batch.tokens`
  /// must be positive (checked); it may exceed the attention's, for engines that pad.
  [[nodiscard]] KernelSequence kernels(const BatchShape& batch) const;

 private:
  /// A call per batch, but for its number of rows: new tokens, or sequences that get a token.
  enum class Rows { tokens, logits };
  struct Step {
    KernelCall call;
    Rows rows = Rows::tokens;
    double bytes_per_row = 0;  // collectives
  };
  class Builder;

  std::vector<Step> steps_;
};

/// StageProgram(model, layout, settings, stage).kernels(batch), for a single batch.
KernelSequence generate(const Transformer& model, const ParallelLayout& layout,
                        const ExecutionSettings& settings, const BatchShape& batch, int stage);

}  // namespace foretoken
