#include "sim/run/draft_deployment.hpp"

#include <algorithm>

namespace foretoken {
namespace {

/// A head uses the target's embedding, which is on another GPU where the target has several stages:
/// the last one then holds a copy (vLLM's llama_eagle).
Bytes embedding_copy(const Scenario& scenario, const Transformer& draft, int tensor) {
  if (!draft.draft_head || scenario.deployment.layout.pipeline == 1) return Bytes(0);
  const auto elements =
      static_cast<double>(padded_vocabulary(scenario.model)) * static_cast<double>(draft.hidden);
  return Bytes(elements / tensor * bytes_per_element(activation_dtype(scenario.execution.dtype)));
}

}  // namespace

DraftMemory draft_memory(const Scenario& scenario) {
  if (!scenario.engine.speculative) return {};
  const SpeculativeSettings& speculative = *scenario.engine.speculative;
  DraftMemory memory;
  memory.drafts = speculative.verified();
  if (!speculative.draft) return memory;
  const Transformer& draft = *speculative.draft;
  const ParallelLayout layout = speculative.layout(scenario.deployment.layout);
  const ExecutionSettings execution = speculative.execution(scenario.execution);
  // Modules for further tokens are loaded beside the first.
  const int modules =
      speculative.method == DraftMethod::mtp ? std::max(scenario.model.mtp_layers, 1) : 1;
  memory.weights = weight_bytes_per_rank(draft, layout, 0, execution.formats()) * modules +
                   embedding_copy(scenario, draft, layout.tensor);
  memory.kv_per_token = kv_bytes_per_token_per_rank(draft, layout, 0, execution.kv_dtype) * modules;
  return memory;
}

std::unique_ptr<DraftPricer> make_draft_pricer(const Scenario& scenario, StageLinks links,
                                               const CommSettings& comm,
                                               const MemoPredictor& predictor) {
  const SpeculativeSettings& speculative = *scenario.engine.speculative;
  if (!speculative.draft) return nullptr;
  links.tensor.is_private = links.stage.is_private = true;
  const ExecutionSettings execution = speculative.execution(scenario.execution);
  const ParallelLayout layout = speculative.layout(scenario.deployment.layout);
  const auto pricer = [&](const Transformer& draft) {
    return std::make_unique<StagePricer>(draft, layout, execution, 0, links, comm, predictor);
  };
  return std::make_unique<DraftPricer>(pricer(*speculative.draft),
                                       pricer(speculative.following_draft()));
}

DraftTree draft_tree(const SpeculativeSettings& speculative) {
  return DraftTree(speculative.acceptance,
                   {.topk = speculative.topk,
                    .verified = speculative.is_tree() ? speculative.tree_tokens : 0,
                    .exponent = speculative.topk_exponent});
}

Speculation make_speculation(const Scenario& scenario, ReplicaId id, DraftPricer* pricer) {
  const SpeculativeSettings& speculative = *scenario.engine.speculative;
  const int drafted =
      speculative.is_tree() ? speculative.topk * speculative.drafts : speculative.drafts;
  return {.drafts = speculative.verified(),
          .depth = speculative.is_tree() ? speculative.drafts : 0,
          .topk = speculative.topk,
          .drafts_by_batch = speculative.drafts_by_batch,
          // What is drafted next goes beyond what is verified now (vLLM's lookahead slots); a
          // tree's draft keeps each candidate that it goes on with (SGLang).
          .room = speculative.verified() + (speculative.draft ? drafted : 0),
          .acceptance =
              AcceptanceSampler(draft_tree(speculative), RandomStreams(scenario.run.seed), id),
          .pricer = pricer};
}

}  // namespace foretoken
