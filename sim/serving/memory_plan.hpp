// What fills a GPU's memory before the first request, and how many KV blocks an engine makes of the
// rest. Each piece is worked out from the model, the layout and the engine's limits, as the
// engine's own profile run meets it; engines differ in what their one memory setting is a share of
// (MemoryRule). A model that does not fit is an error before time 0.
// What it leaves out: fragmentation, and buffers of features that are not simulated.
#pragma once

#include <cstdint>

#include "hardware/gpu.hpp"
#include "models/sequence_memory.hpp"
#include "sim/serving/encoder_cache.hpp"
#include "sim/serving/kv_beside.hpp"
#include "sim/serving/settings/engine_limits.hpp"
#include "sim/serving/settings/engine_memory.hpp"
#include "workloads/generator.hpp"

namespace foretoken {

/// What a draft keeps on each rank of the last stage.
struct DraftMemory {
  int drafts = 0;      // verified with a token: so many more rows of logits a sequence
  Bytes weights;       // what it does not share with the model
  Bytes kv_per_token;  // its own keys and values, in the same blocks
};

/// What an engine is set to, what its draft keeps, and how many tokens of images it encodes in a
/// step and keeps (0: started for text alone, as vLLM with --limit-mm-per-prompt image=0).
struct MemoryLimits : SchedulerLimits, EngineMemory {
  DraftMemory draft = {};
  EncoderSettings encoder = {};
};

/// Bytes of one GPU, a rank of the stage that holds the fewest blocks.
struct MemoryPlan {
  Bytes capacity;       // as nvidia-smi says
  Bytes driver;         // of that, kept by the driver
  Bytes context;        // of the process: CUDA's own
  Bytes communication;  // NCCL's buffers, those of all-reduce kernels
  Bytes weights;        // table of rotary embeddings and a draft's weights included
  Bytes draft_weights;  // of these
  Bytes adapters;       // slots of adapters (LoRA), full or not
  Bytes encoder_cache;  // of encoded images, full or not
  Bytes activations;    // of the largest step, sampling and encoding images included
  Bytes runtime;        // code of kernels, workspaces of libraries
  Bytes graphs;         // CUDA graphs, one a batch size
  Bytes kv_budget;      // for KV blocks; may be negative
  Bytes kv_block;       // one block of tokens
  Bytes unused;         // of the capacity, by nobody; negative: more was promised than there is
  Bytes state;          // of recurrences, a sequence; drafts that are verified have copies
  KvBeside beside;      // what a sequence holds beside its tokens' blocks
  std::int64_t kv_blocks = 0;  // of the replica: the smallest over its stages
  Bytes kv_block_all_ranks;    // one block on all ranks of one attention rank, all stages

  [[nodiscard]] Bytes usable() const { return capacity - driver; }
};

/// The plan of one replica. Does not judge; check_memory does.
MemoryPlan plan_memory(const Transformer& model, const ParallelLayout& layout,
                       const ExecutionSettings& execution, const GpuSpec& gpu,
                       const MemoryLimits& limits);

/// The plan of a replica that only encodes images: the encoder, its largest step and what it keeps.
/// One KV block of no size stands for those that it has not. Throws ConfigError at `position` if
/// that does not fit.
MemoryPlan plan_encoder_memory(const Transformer& model, const ParallelLayout& layout,
                               const ExecutionSettings& execution, const GpuSpec& gpu,
                               const MemoryLimits& limits, const SourcePosition& position);

/// The plan of a GPU that holds routed experts and nothing else: their weights and the largest
/// micro-batch; no KV blocks. Throws ConfigError at `position` if that does not fit.
MemoryPlan plan_expert_memory(const Transformer& model, const ParallelLayout& layout,
                              const ExecutionSettings& execution, const GpuSpec& gpu,
                              const MemoryLimits& limits, const SourcePosition& position);

/// Throws ConfigError at `model_position` if the weights do not fit or no KV block is left, saying
/// how much is missing and what would help; at `share_position` if the share is more than is free
/// at the start.
void check_memory(const MemoryPlan& plan, const Transformer& model, const ParallelLayout& layout,
                  const GpuSpec& gpu, const MemoryLimits& limits,
                  const SourcePosition& model_position, const SourcePosition& share_position);

}  // namespace foretoken
