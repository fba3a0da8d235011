#include "sim/run/step_split.hpp"

#include <algorithm>

namespace foretoken {
namespace {

bool is_prefill(const BatchEntry& entry, const Batch& batch) {
  return entry.new_tokens > 1 + batch.drafts_max;
}

/// The batch as it would be priced with those entries only that `keeps` says.
template <class Keeps>
BatchShape shape_of(const Batch& batch, const Keeps& keeps) {
  BatchShape shape;
  for (const BatchEntry& entry : batch.entries) {
    if (!keeps(entry, batch)) continue;
    const SequenceSlice slice{entry.new_tokens, entry.context_tokens};
    AttentionLoad& load = shape.attention;
    (is_prefill(entry, batch) ? load.prefill : load.decode).add(slice);
    if (batch.lists_sequences) load.sequences.push_back(slice);
    shape.tokens += entry.new_tokens;
    shape.logit_rows += entry.samples ? 1 + entry.drafts : 0;
    shape.draft_rows += entry.drafts;
    shape.verifying += entry.drafts > 0 ? 1 : 0;
  }
  return shape;
}

bool is_collective(const PricedKernel& kernel) {
  return std::holds_alternative<Collective>(kernel.call.kernel);
}

double seconds_of(const PricedKernel& kernel) {
  return (kernel.price.time * kernel.call.calls).value();
}

/// Of the kernels that compute, if the step had those entries only; 0 without any.
template <class Keeps>
double computing(const StageStep& step, const Keeps& keeps) {
  std::vector<BatchShape> shapes;
  for (const Batch& batch : step.batches) shapes.push_back(shape_of(batch, keeps));
  const auto has_work = [](const BatchShape& shape) { return shape.tokens > 0; };
  if (std::ranges::none_of(shapes, has_work)) return 0;
  double sum = 0;
  for (const PricedKernel& kernel : step.pricer->kernels(shapes)) {
    if (!is_collective(kernel)) sum += seconds_of(kernel);
  }
  return sum;
}

/// `part` of `whole`, which are priced apart: from 0 to 1.
double share(double part, double whole) {
  return whole > 0 ? std::clamp(part / whole, 0.0, 1.0) : 0.0;
}

/// Shares of `computed` seconds by who needed them; `full` is what the whole batch is priced at.
void add_computation(const StageStep& step, const BatchEntry* own, LatencyCause own_cause,
                     double computed, double full, LatencyParts& parts) {
  bool others_prefill = false, others_decode = false;
  for (const Batch& batch : step.batches) {
    for (const BatchEntry& entry : batch.entries) {
      if (&entry == own) continue;
      (is_prefill(entry, batch) ? others_prefill : others_decode) = true;
    }
  }
  double rest = computed, rest_priced = full;
  if (others_prefill) {
    const double without = computing(step, [&](const BatchEntry& entry, const Batch& batch) {
      return &entry == own || !is_prefill(entry, batch);
    });
    rest = computed * share(without, full);
    rest_priced = without;
  }
  parts[LatencyCause::others_prefill] += computed - rest;
  double alone = rest;
  if (own == nullptr) {
    alone = 0;
  } else if (others_decode) {
    alone =
        rest *
        share(computing(step, [&](const BatchEntry& entry, const Batch&) { return &entry == own; }),
              rest_priced);
  }
  parts[LatencyCause::others_decode] += rest - alone;
  if (own != nullptr) parts[own_cause] += alone;
}

}  // namespace

StepSplit split_step(const StageStep& step, const BatchEntry* own, LatencyCause own_cause) {
  StepSplit split;
  LatencyParts& parts = split.parts;
  double left = (step.end - step.start).value();
  const auto take = [&](LatencyCause cause, Seconds asked) {
    const double taken = std::clamp(asked.value(), 0.0, left);
    parts[cause] += taken;
    left -= taken;
    return taken;
  };
  take(LatencyCause::kv_copies, step.compute_from - step.start);
  take(LatencyCause::host, step.host_delay);
  const double encoding = take(LatencyCause::encoder, step.encoder_time);
  if (encoding > 0) add_bound_time(split.kernels, {"encoder", "mixed", encoding});
  const double drafting = take(LatencyCause::drafts, step.draft_time);
  if (drafting > 0) add_bound_time(split.kernels, {"draft", "mixed", drafting});
  // Collectives over shared links come after the kernels, unless they overlap.
  const Seconds shared_time = step.communication_end - step.communication_from;
  double shared = step.overlaps ? 0 : take(LatencyCause::communication, shared_time);
  const double gpu = step.overlaps ? left : std::min(left, step.kernel_time.value());
  left -= gpu;
  parts[LatencyCause::kv_copies] += left;  // copies that ended later than all else

  if (step.pricer == nullptr) return split;
  const std::vector<PricedKernel> kernels = step.pricer->kernels(step.shapes);
  double full = 0, collectives = 0, shared_priced = 0;
  for (const PricedKernel& kernel : kernels) {
    const bool is_apart = kernel.is_shared && !step.overlaps;
    (is_apart ? shared_priced : is_collective(kernel) ? collectives : full) += seconds_of(kernel);
  }
  const double scale = full + collectives > 0 ? gpu / (full + collectives) : 0;
  const double shared_scale = shared_priced > 0 ? shared / shared_priced : 0;
  for (const PricedKernel& kernel : kernels) {
    const double by = kernel.is_shared && !step.overlaps ? shared_scale : scale;
    add_bound_time(split.kernels, {kernel_name(kernel.call.kernel),
                                   enum_name(kernel.price.bound_by), seconds_of(kernel) * by});
  }
  parts[LatencyCause::communication] += collectives * scale;
  add_computation(step, own, own_cause, gpu - collectives * scale, full, parts);
  return split;
}

}  // namespace foretoken
