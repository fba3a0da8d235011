// What one step costs on one pipeline stage: the generator's kernels priced by the predictor, and
// collectives over private links by their closed form. All but attention depends on the batch's
// token counts alone, so it is priced once for each (tokens, logit rows) and looked up afterwards;
// attention is priced every step from the batch's load (decode_lattice.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <span>
#include <unordered_map>
#include <vector>

#include "kernels/collectives.hpp"
#include "kernels/memo_predictor.hpp"
#include "workloads/generator.hpp"

namespace foretoken {

/// A collective over links that others use too: the platform simulates it.
struct SharedCollective {
  CollectiveOp op;
  Bytes size;
  int repeats;
};

struct StagePrice {
  Seconds time;                              // kernels and private collectives, one after the other
  Bytes send_per_rank;                       // hidden states for the next stage; 0 = last stage
  std::span<const SharedCollective> shared;  // valid until the pricer is destroyed
};

/// Seconds of GPU time by kernel family, or launches by origin, summed over all priced steps.
struct PriceTotals {
  std::vector<std::pair<std::string_view, Seconds>> time_by;
  std::array<std::int64_t, EnumNames<Origin>::names.size()> launches_by_origin{};
};

class StagePricer {
 public:
  /// `predictor` must outlive the pricer. `links` are those of the stage's tensor-parallel group.
  StagePricer(const Transformer& model, const ParallelLayout& layout,
              const ExecutionSettings& execution, int stage, const GroupLinks& links,
              const MemoPredictor& predictor);

  StagePrice price(const BatchShape& batch);

  /// Adds this pricer's sums to `totals`.
  void add_to(PriceTotals& totals) const;

 private:
  struct AttentionSlot {
    Kernel kernel;  // an Attention or Mla whose load is filled in for each step
    int calls;
  };
  /// A step with its attention cut out.
  struct Template {
    Seconds fixed_time;
    Bytes send_per_rank;
    std::vector<AttentionSlot> attention;
    std::vector<SharedCollective> shared;
    std::vector<std::pair<std::string_view, Seconds>> time_by;
    std::array<std::int64_t, EnumNames<Origin>::names.size()> launches_by_origin{};
    std::int64_t uses = 0;
  };

  Prediction price_attention(Kernel& kernel, const AttentionLoad& load) const;
  Template make_template(const BatchShape& batch) const;
  void add_collective(const KernelCall& call, Template& made) const;

  StageProgram program_;
  GroupLinks links_;
  const MemoPredictor& predictor_;
  std::deque<Template> templates_;  // in order of first use: sums must not depend on hashing
  std::unordered_map<std::uint64_t, Template*> template_of_;  // by (tokens, logit rows)
  Seconds attention_time_;
  std::array<std::int64_t, EnumNames<Origin>::names.size()> attention_launches_{};
};

}  // namespace foretoken
