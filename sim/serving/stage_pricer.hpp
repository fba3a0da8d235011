// What one step costs on one pipeline stage: the generator's kernels priced by the predictor, and
// collectives over private links by their closed form. All but attention depends on the batch's
// token counts alone, so it is priced once for each (tokens, logit rows) and looked up afterwards;
// attention is priced every step from the batch's load (decode_lattice.hpp).
// Attention ranks of one stage step together: the slowest decides, then all meet at the experts.
// Where a step's routing is drawn, what depends on it is priced once for each routing.
// Where a step runs in parts that overlap, each part is priced like a step and the schedule of all
// decides (batch_schedule.hpp); experts on GPUs of their own are priced on these.
#pragma once

#include <tsl/robin_map.h>

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "kernels/communication/collective_cost.hpp"
#include "kernels/kernel_streams.hpp"
#include "kernels/memo_predictor.hpp"
#include "sim/base/mixed_bits.hpp"
#include "sim/base/random.hpp"
#include "sim/serving/decode_lattice.hpp"
#include "sim/serving/stage_price.hpp"
#include "sim/serving/step_course.hpp"
#include "workloads/batch_schedule.hpp"
#include "workloads/generator.hpp"

namespace foretoken {

/// The links of a stage's groups.
struct StageLinks {
  GroupLinks tensor;   // of each tensor-parallel group
  GroupLinks stage;    // of all ranks; used with data parallel attention
  GroupLinks context;  // of ranks that share contexts
  GroupLinks prompts;  // of those that share prompts
  GroupLinks experts;  // from attention's ranks to experts on GPUs of their own
  /// Others may be on links that no GPU outside the group uses for itself: prices come with the
  /// order of their parts, for the platform to simulate.
  bool are_met = false;

  StageLinks(GroupLinks of_tensor) : StageLinks(of_tensor, of_tensor) {}
  StageLinks(GroupLinks of_tensor, GroupLinks of_stage)
      : tensor(of_tensor), stage(of_stage), context(of_tensor), prompts(of_stage) {}
  friend bool operator==(const StageLinks&, const StageLinks&) = default;
};

class StagePricer {
 public:
  /// `comm` and the predictors must outlive the pricer, and the pricer its prices. `experts` prices
  /// experts on GPUs of another kind; nullptr: `predictor` does.
  StagePricer(const Transformer& model, const ParallelLayout& layout,
              const ExecutionSettings& execution, int stage, const StageLinks& links,
              const CommSettings& comm, const MemoPredictor& predictor,
              const MemoPredictor* experts = nullptr);

  StagePrice price(const BatchShape& batch) { return price(std::span(&batch, 1)); }

  /// A step of all attention ranks, at least one of which has work. A rank with none runs a batch
  /// of one token, for the sake of the experts that it holds.
  StagePrice price(std::span<const BatchShape> ranks);

  /// What price() priced, kernel by kernel: of the attention rank that takes longest, then what all
  /// do together; of all parts, where the batch is split. Sums stay as they are. Costs as
  /// much as a first price(): for samples. Where routings are drawn, with the last one drawn.
  [[nodiscard]] std::vector<PricedKernel> kernels(std::span<const BatchShape> ranks) const;
  [[nodiscard]] const GpuSpec& gpu() const { return predictor_.gpu(); }

  /// Adds this pricer's sums to `totals`.
  void add_to(PriceTotals& totals) const;

 private:
  /// A step, or one part of it, with what depends on its attention load cut out.
  struct Template {
    Seconds fixed_time;
    Bytes send_per_rank;
    std::int64_t launches = 0, attention_launches = 0;
    std::vector<KernelCall>* slots = nullptr;  // of slots_: kernels whose load each step fills in
    std::vector<SharedCollective> shared;
    OverlappedStep::Part segments;     // with overlap
    std::optional<StepCourse> course;  // where private collectives are simulated
    std::int64_t transfers_priced = 0, transfers_shared = 0;
    std::vector<FamilyTime> families;
    std::array<std::int64_t, EnumNames<Origin>::names.size()> launches_by_origin{};
    std::int64_t uses = 0;
  };
  /// A batch, or a part of one, from end to end.
  struct Pass {
    Seconds time;
    Bytes send_per_rank;
    std::int64_t launches = 0, attention_launches = 0;
    std::vector<SharedCollective> shared;
    OverlappedStep::Part segments;
    StepOrder order;
  };
  /// What a template's kernels depend on: see the maps, and the rows that judge drafts.
  struct TemplateKey {
    std::uint64_t batch = 0, drafts = 0;
    friend bool operator==(const TemplateKey&, const TemplateKey&) = default;
  };
  struct TemplateHash {
    std::size_t operator()(const TemplateKey& key) const {
      return mixed(key.batch ^ mixed(key.drafts));
    }
  };
  [[nodiscard]] TemplateKey key_of(const BatchShape& batch, bool has_prompts) const;
  using TemplateMap = tsl::robin_map<TemplateKey, Template*, TemplateHash>;
  /// What a routing decides.
  struct Routed {
    StageProgram program;
    TemplateMap template_of;               // of all or the local part, by (tokens, logit rows)
    TemplateMap joint_template_of;         // by (tokens of all ranks, of the rank with most)
    TemplateMap adapted_template_of = {};  // by (tokens with adapters, adapters)
  };

  Pass run(std::span<const BatchShape> ranks);
  Pass run_together(std::span<const BatchShape> ranks);
  /// What the ranks do together.
  /// Whether experts are exchanged as in steps with prompts.
  [[nodiscard]] bool exchanges_prompts(const BatchShape& batch) const {
    return layout_.exchanges_tokens() && batch.has_prompts();
  }
  /// Whether streams are as in steps with prompts, and in those without prompts are not.
  [[nodiscard]] bool forks_as_prompts(const BatchShape& batch) const {
    return routed_[drawn_].program.forks_decodes_alone() && batch.has_prompts();
  }
  [[nodiscard]] static BatchShape joint_shape(std::span<const BatchShape> ranks);
  StagePrice overlap(std::span<const std::vector<BatchShape>> parts);
  /// Prices the slots of `step` under `load` into slot_prices_ and returns their sum.
  Seconds price_slots(Template& step, const AttentionLoad& load);
  void add(Template& step, Pass& pass);
  void add_slots(const Template& step, Pass& pass);
  /// What adapters add to a rank's batch; nullptr: nothing.
  Template* adapted_template_for(const BatchShape& batch);
  void add_adapted(Template* adapted, Pass& pass);

  /// Whether the kernel's price follows the attention load and not just the number of tokens.
  [[nodiscard]] static bool follows_load(const KernelCall& call);
  /// Of one call whose load is its part of the step's.
  [[nodiscard]] Prediction price_call(KernelCall& call, const AttentionLoad& step) const;
  [[nodiscard]] Prediction price_slot(Kernel& kernel, const AttentionLoad& load) const;
  void append_kernels(std::span<const BatchShape> ranks, std::vector<PricedKernel>& kernels) const;
  /// The kernels of `part` for one rank's batch; returns their time.
  Seconds append_kernels(BatchShape batch, StagePart part,
                         std::vector<PricedKernel>& kernels) const;
  [[nodiscard]] PricedKernel priced(const KernelCall& call, const AttentionLoad& load) const;
  [[nodiscard]] const GroupLinks& links_of(const Collective& collective) const;
  [[nodiscard]] StreamShares stream_shares(const KernelSequence& kernels,
                                           std::int64_t tokens) const;
  [[nodiscard]] const MemoPredictor& predictor_of(const Kernel& kernel) const;
  [[nodiscard]] bool simulates_private() const { return links_.are_met && !schedule_; }
  Template& template_for(TemplateMap& known, TemplateKey key, const BatchShape& batch,
                         StagePart part);
  Template make_template(BatchShape batch, StagePart part);
  /// The list in slots_ that is `slots` but for loads, added if there is none.
  std::vector<KernelCall>& shared_slots(std::vector<KernelCall> slots);
  void add_collective(std::size_t number, const KernelCall& call, Template& made);
  void add_segment_time(std::vector<Seconds>& segments, int segment, Seconds time) const;

  ParallelLayout layout_;
  std::vector<Routed> routed_;  // one, or as many as there are routings to draw
  std::size_t drawn_ = 0;       // the step's
  RandomStream random_;
  StageLinks links_;
  const CommSettings& comm_;
  const MemoPredictor& predictor_;
  const MemoPredictor* experts_predictor_;
  mutable DecodeLattice decodes_;          // a memo is no state that shows
  std::optional<BatchSchedule> schedule_;  // where a step runs in parts
  int parts_ = 1;
  SideTimes sides_;
  std::deque<Template> templates_;  // in order of first use: sums must not depend on hashing
  std::deque<std::vector<KernelCall>> slots_;  // that templates share; their loads are scratch
  KernelSequence made_kernels_;                // scratch
  std::vector<FamilyTime> made_families_;      // scratch
  std::vector<Prediction> slot_prices_;        // times of all calls
  std::vector<FamilyTime> slot_families_;
  std::array<std::int64_t, EnumNames<Origin>::names.size()> slot_launches_{};
};

}  // namespace foretoken
