// What `foretoken step` prices: model, layout, cluster and predictor by the command line or by a
// scenario, and the batch of --prefill and --decode.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hardware/cluster.hpp"
#include "kernels/communication/collective_cost.hpp"
#include "kernels/communication/engine_exchange.hpp"
#include "kernels/predictor.hpp"
#include "sim/prices/placement.hpp"
#include "sim/scenario/speculative.hpp"
#include "workloads/generator.hpp"

namespace foretoken {

struct StepOptions {
  std::string model, gpu, cluster, prefill, decode, predictor = "synperf";
  std::string dtype, expert_dtype, kv_dtype, routing = std::string(usual_routing),
                                             framework = "vllm", sampling = "greedy";
  std::string scenario, pool, communication = "model", fallback = "none", all_reduce = "auto",
                              expert_exchange = "auto";
  std::vector<std::string> overrides;
  std::string speculate, draft_model;
  int drafts = 0, draft_tensor = 0;
  std::string images, audio;
  bool encoder_by_data = false;
  int adapters = 0, adapter_rank = LoraSettings{}.rank;
  bool warm = false;
  ParallelLayout layout;
  int expert_micro_batches = ExecutionSettings{}.expert_micro_batches;
  int block_tokens = 16;
  double host_us = 0;
  bool json = false;
};

/// What takes the step, and where.
struct StepSubject {
  std::string model_name;
  Transformer model;
  ParallelLayout layout;
  ExecutionSettings execution;
  ClusterSpec cluster;
  CommSettings comm;
  std::unique_ptr<Predictor> predictor;
  double host_us = 0;
  std::optional<SpeculativeSettings> speculation = {};
  int drafts = 0;  // that each decode verifies
  SettledExchange exchange = {};
  NodeGroups nodes = {};
};

/// Throws ConfigError, which names the option (or the scenario's line).
StepSubject step_subject(const StepOptions& options);
/// Prompts and decodes, each of which verifies `drafts` tokens. Throws ConfigError.
BatchShape step_batch(const StepOptions& options, const ParallelLayout& layout, int drafts);
/// Images of --images and clips of --audio that the step encodes. Throws ConfigError, also for a
/// model or a layout that cannot.
std::vector<MediaPatches> step_media(const StepOptions& options, const StepSubject& subject);

}  // namespace foretoken
