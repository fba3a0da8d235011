#include "sim/prices/step_price.hpp"

#include <algorithm>

#include "kernels/communication/comm_groups.hpp"
#include "kernels/communication/communication_price.hpp"
#include "kernels/kernel_streams.hpp"
#include "workloads/batch_parts.hpp"
#include "workloads/batch_schedule.hpp"
#include "workloads/encoder_kernels.hpp"

namespace foretoken {
namespace {

Seconds sum(const std::vector<StepKernel>& kernels, bool is_communication) {
  Seconds total;
  for (const StepKernel& kernel : kernels) {
    if (kernel.is_communication == is_communication) total += kernel.time;
  }
  return total;
}

Seconds sum(const std::vector<std::vector<StepKernel>>& stages, bool is_communication) {
  Seconds total;
  for (const auto& stage : stages) total += sum(stage, is_communication);
  return total;
}

GroupLinks links_of(const Collective& collective, const ClusterSpec& cluster,
                    const ReplicaPlacement& placement, const CommGroupSizes& sizes,
                    std::size_t stage) {
  const std::vector<GpuId>& gpus = placement.stages[stage];
  if (collective.group == CommGroup::next_stage)
    return group_links(cluster, std::vector{gpus.front(), placement.stages[stage + 1].front()});
  if (collective.op == CollectiveOp::send_recv)
    return links_between(cluster, gpus, placement.experts);
  return group_links(cluster, members_of(collective.group, sizes, gpus).front());
}

StepKernel price_collective(const KernelCall& call, const ClusterSpec& cluster,
                            const CommSettings& comm, const ReplicaPlacement& placement,
                            const CommGroupSizes& sizes, std::size_t stage) {
  const auto& collective = std::get<Collective>(call.kernel);
  const GroupLinks links = links_of(collective, cluster, placement, sizes, stage);
  const Prediction price = price_communication(collective, links, comm);
  StepKernel kernel{std::string(call.role),
                    std::string(kernel_name(call.kernel)),
                    call.calls,
                    price.time * call.calls,
                    price.bound_by,
                    price.origin,
                    true};
  if (price.origin == Origin::analytic)
    kernel.algorithm = collective_cost(call_of(collective, comm), links, comm.parameters).algorithm;
  return kernel;
}

}  // namespace

Seconds StepCost::compute(std::size_t stage) const { return sum(stages[stage], false); }
Seconds StepCost::communication(std::size_t stage) const { return sum(stages[stage], true); }
Seconds DraftPasses::time() const { return sum(kernels, false) + sum(kernels, true); }

Seconds StepCost::time(std::size_t stage) const {
  return sides ? sides->step : compute(stage) + communication(stage);
}

Seconds StepCost::time() const {
  Seconds total = sum(encoder, false) + sum(encoder, true);
  for (std::size_t stage = 0; stage < stages.size(); ++stage) total += time(stage);
  for (const DraftPasses& pass : drafts) total += pass.time();
  return total;
}

Seconds StepCost::compute() const {
  Seconds total = sum(encoder, false) + sum(stages, false);
  for (const DraftPasses& pass : drafts) total += sum(pass.kernels, false);
  return total;
}
Seconds StepCost::communication() const {
  Seconds total = sum(encoder, true) + sum(stages, true);
  for (const DraftPasses& pass : drafts) total += sum(pass.kernels, true);
  return total;
}

namespace {

StepKernel price_kernel(const KernelCall& call, const ClusterSpec& cluster,
                        const Predictor& predictor) {
  const Prediction prediction = predictor.predict(call.kernel, cluster.gpu);
  return {std::string(call.role),
          std::string(kernel_name(call.kernel)),
          call.calls,
          prediction.time * call.calls,
          prediction.bound_by,
          prediction.origin,
          false};
}

CommGroupSizes group_sizes(const ParallelLayout& layout) {
  return {static_cast<std::size_t>(layout.tensor), static_cast<std::size_t>(layout.decode_context)};
}

}  // namespace

std::vector<StepKernel> price_media(const Transformer& model, const ParallelLayout& layout,
                                    const ExecutionSettings& execution, const ClusterSpec& cluster,
                                    const CommSettings& comm, const Predictor& predictor,
                                    std::span<const MediaPatches> items) {
  const ReplicaPlacement placement = place_replicas(cluster, layout, 1, {}).front();
  std::vector<StepKernel> kernels;
  KernelSequence calls;
  for (const Medium medium : all_media) {
    const std::vector<MediaPatches> own = of_medium(medium, items);
    if (own.empty()) continue;
    const KernelSequence more = encoder_kernels(*model.encoder(medium), layout, execution, own);
    calls.insert(calls.end(), more.begin(), more.end());
  }
  for (const KernelCall& call : calls) {
    const bool communicates = std::holds_alternative<Collective>(call.kernel);
    kernels.push_back(communicates
                          ? price_collective(call, cluster, comm, placement, group_sizes(layout), 0)
                          : price_kernel(call, cluster, predictor));
  }
  return kernels;
}

namespace {

/// A step whose parts take turns on attention's GPUs and the experts'.
class SplitStep {
 public:
  SplitStep(const StageProgram& program, const ClusterSpec& cluster, const CommSettings& comm,
            const Predictor& predictor, const ReplicaPlacement& placement,
            const CommGroupSizes& sizes, const NodeGroups& nodes)
      : program_(program),
        cluster_(cluster),
        experts_(cluster.seen_from(nodes.experts)),
        comm_(comm),
        predictor_(predictor),
        placement_(placement),
        sizes_(sizes),
        schedule_(program.blocks()) {}

  StepCost price(const BatchShape& batch, int micro_batches, int attention_ranks) {
    for (BatchShape& part : split_batch(batch, micro_batches)) {
      if (part.tokens == 0) continue;
      part.stage_tokens = part.tokens * attention_ranks;
      part.stage_tokens_max = part.tokens;
      add(part);
    }
    StepCost cost;
    cost.stages.push_back(std::move(kernels_));
    cost.sides = schedule_.sides(segments_);
    cost.micro_batches = static_cast<int>(segments_.size());
    return cost;
  }

 private:
  /// Kernels that parts have in common stand in one row.
  void add(const BatchShape& part) {
    std::vector<Seconds>& segments = segments_.emplace_back(schedule_.streams().size());
    for (const KernelCall& call : program_.kernels(part)) {
      const bool is_theirs = std::holds_alternative<FusedMoe>(call.kernel);
      StepKernel priced = std::holds_alternative<Collective>(call.kernel)
                              ? price_collective(call, cluster_, comm_, placement_, sizes_, 0)
                              : price_kernel(call, is_theirs ? experts_ : cluster_, predictor_);
      segments[static_cast<std::size_t>(call.segment)] += priced.time;
      const auto known = std::ranges::find_if(kernels_, [&](const StepKernel& kernel) {
        return kernel.role == priced.role && kernel.kernel == priced.kernel &&
               kernel.algorithm == priced.algorithm && kernel.bound_by == priced.bound_by &&
               kernel.origin == priced.origin;
      });
      if (known == kernels_.end()) {
        kernels_.push_back(std::move(priced));
      } else {
        known->calls += priced.calls;
        known->time += priced.time;
      }
    }
  }

  const StageProgram& program_;
  const ClusterSpec& cluster_;
  const ClusterSpec experts_;
  const CommSettings& comm_;
  const Predictor& predictor_;
  const ReplicaPlacement& placement_;
  const CommGroupSizes sizes_;
  const BatchSchedule schedule_;
  std::vector<std::vector<Seconds>> segments_;  // by part
  std::vector<StepKernel> kernels_;
};

}  // namespace

StepCost price_step(const Transformer& model, const ParallelLayout& layout,
                    const ExecutionSettings& execution, const ClusterSpec& cluster,
                    const CommSettings& comm, const Predictor& predictor, const BatchShape& batch,
                    const NodeGroups& nodes) {
  const ReplicaPlacement placement = place_replicas(cluster, layout, 1, {}, nodes).front();
  if (layout.expert_gpus > 0) {
    return SplitStep(StageProgram(model, layout, execution, 0), cluster, comm, predictor, placement,
                     group_sizes(layout), nodes)
        .price(batch, execution.expert_micro_batches, layout.data_parallel_attention);
  }
  const CommGroupSizes sizes = group_sizes(layout);
  StepCost cost;
  for (int stage = 0; stage < layout.pipeline; ++stage) {
    std::vector<StepKernel>& kernels = cost.stages.emplace_back();
    const KernelSequence sequence = generate(model, layout, execution, batch, stage);
    const StreamShares shares(
        sequence, batch.tokens,
        [&](const Kernel& kernel) { return predictor.predict(kernel, cluster.gpu).time; },
        cluster.gpu);
    for (const KernelCall& call : sequence) {
      if (std::holds_alternative<Collective>(call.kernel)) {
        kernels.push_back(price_collective(call, cluster, comm, placement, sizes,
                                           static_cast<std::size_t>(stage)));
        continue;
      }
      StepKernel& priced = kernels.emplace_back(price_kernel(call, cluster, predictor));
      priced.hidden = priced.time * (1 - shares.of(call.stream));
      priced.time -= priced.hidden;
    }
  }
  return cost;
}

namespace {

/// One token of each sequence, as if all its drafts had been accepted.
BatchShape drafting_shape(const BatchShape& batch, int attention_ranks, int topk = 1) {
  std::vector<SequenceSlice> slices;
  for (const SequenceSlice& slice : batch.attention.sequences)
    slices.insert(slices.end(), static_cast<std::size_t>(topk), {1, slice.context_tokens});
  BatchShape shape;
  shape.tokens = shape.logit_rows = static_cast<std::int64_t>(slices.size());
  shape.attention = AttentionLoad::exact(std::move(slices));
  shape.stage_tokens = shape.tokens * attention_ranks;
  shape.stage_tokens_max = shape.tokens;
  return shape;
}

/// Of a tree the draft runs over what can have been accepted alone.
BatchShape caught_up(BatchShape batch, std::int64_t most) {
  std::vector<SequenceSlice> slices = batch.attention.sequences;
  for (SequenceSlice& slice : slices) {
    if (!batch.attention.is_decode(slice)) continue;
    batch.tokens -= slice.query_tokens - std::min(slice.query_tokens, most);
    slice.query_tokens = std::min(slice.query_tokens, most);
  }
  batch.attention = AttentionLoad::exact(std::move(slices), most);
  return batch;
}

}  // namespace

std::vector<DraftPasses> price_drafts(const SpeculativeSettings& speculative,
                                      const ParallelLayout& target_layout,
                                      const ExecutionSettings& target_execution,
                                      const ClusterSpec& cluster, const CommSettings& comm,
                                      const Predictor& predictor, const BatchShape& batch) {
  std::vector<DraftPasses> drafts;
  if (!speculative.draft) return drafts;
  const BatchShape following = drafting_shape(batch, target_layout.data_parallel_attention);
  BatchShape first = speculative.is_tree() ? caught_up(batch, speculative.drafts + 1) : batch;
  first.logit_rows = following.logit_rows;
  first.draft_rows = first.verifying = 0;
  const auto add = [&](int passes, const Transformer& draft, const BatchShape& shape) {
    StepCost cost =
        price_step(draft, speculative.layout(target_layout),
                   speculative.execution(target_execution), cluster, comm, predictor, shape);
    DraftPasses& added = drafts.emplace_back();
    added.passes = passes;
    added.kernels = std::move(cost.stages.front());
    for (StepKernel& kernel : added.kernels) {
      kernel.calls *= passes;
      kernel.time *= passes;
    }
  };
  add(1, *speculative.draft, first);
  if (speculative.drafts > 1) {
    add(speculative.drafts - 1, speculative.following_draft(),
        drafting_shape(batch, target_layout.data_parallel_attention, speculative.topk));
  }
  return drafts;
}

}  // namespace foretoken
