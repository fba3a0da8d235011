// The draft of a speculating scenario as deployed: what it takes of a GPU's memory and what its
// passes cost. Internal to sim/run.
#pragma once

#include <memory>

#include "kernels/memo_predictor.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/serving/draft_pricer.hpp"
#include "sim/serving/memory_plan.hpp"
#include "sim/serving/speculation.hpp"

namespace foretoken {

/// Nothing without speculation.
DraftMemory draft_memory(const Scenario& scenario);

/// Prices the draft's passes on GPUs that are linked as `links`, those of the target's last stage.
/// Null where nothing runs on a GPU. The arguments must outlive the pricer.
std::unique_ptr<DraftPricer> make_draft_pricer(const Scenario& scenario, StageLinks links,
                                               const CommSettings& comm,
                                               const MemoPredictor& predictor);

/// What a step can accept.
DraftTree draft_tree(const SpeculativeSettings& speculative);

/// How replica `id` speculates; the scenario must. `pricer` may be null.
Speculation make_speculation(const Scenario& scenario, ReplicaId id, DraftPricer* pricer);

}  // namespace foretoken
