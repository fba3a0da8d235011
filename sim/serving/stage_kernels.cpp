// A step kernel by kernel, at the prices that StagePricer::price() adds up: what traces and
// rooflines are made of. Nothing is remembered between calls but what the predictor remembers.
#include <algorithm>

#include "kernels/communication/communication_price.hpp"
#include "sim/serving/kernel_slots.hpp"
#include "sim/serving/stage_pricer.hpp"
#include "workloads/batch_parts.hpp"

namespace foretoken {

std::vector<PricedKernel> StagePricer::kernels(std::span<const BatchShape> ranks) const {
  std::vector<PricedKernel> kernels;
  if (schedule_) {
    for (const std::vector<BatchShape>& part : split_ranks(ranks, parts_))
      append_kernels(part, kernels);
    return kernels;
  }
  append_kernels(ranks, kernels);
  return kernels;
}

void StagePricer::append_kernels(std::span<const BatchShape> ranks,
                                 std::vector<PricedKernel>& kernels) const {
  if (ranks.size() == 1) {
    append_kernels(share_of_prompts(ranks.front(), layout_), StagePart::all, kernels);
    return;
  }
  std::vector<PricedKernel> slowest;
  Seconds longest{-1.0};
  for (const BatchShape& rank : ranks) {
    if (rank.tokens == 0) continue;
    std::vector<PricedKernel> own;
    const Seconds time =
        append_kernels(rank, StagePart::local, own) + append_kernels(rank, StagePart::adapted, own);
    if (time <= longest) continue;
    longest = time;
    slowest = std::move(own);
  }
  std::ranges::move(slowest, std::back_inserter(kernels));
  append_kernels(joint_shape(ranks), StagePart::joint, kernels);
}

Seconds StagePricer::append_kernels(BatchShape batch, StagePart part,
                                    std::vector<PricedKernel>& kernels) const {
  const AttentionLoad load = batch.attention;
  Seconds time;
  const KernelSequence sequence = routed_[drawn_].program.kernels(batch, part);
  const StreamShares shares = stream_shares(sequence, batch.tokens);
  for (const KernelCall& call : sequence) {
    const auto* collective = std::get_if<Collective>(&call.kernel);
    if (collective != nullptr && collective->group == CommGroup::next_stage) continue;
    PricedKernel kernel = priced(call, load);
    if (kernel.price.time == Seconds(0.0)) continue;
    kernel.price.time *= shares.of(call.stream);
    if (!kernel.is_shared) time += kernel.price.time * call.calls;
    kernels.push_back(std::move(kernel));
  }
  return time;
}

PricedKernel StagePricer::priced(const KernelCall& call, const AttentionLoad& load) const {
  PricedKernel kernel{call, {}, false};
  if (const auto* collective = std::get_if<Collective>(&call.kernel)) {
    const GroupLinks& links = links_of(*collective);
    if (links.is_private) {
      kernel.price = price_communication(*collective, links, comm_);
      return kernel;
    }
    const auto [asked, origin] = priced_call(*collective, links, comm_);
    kernel.price = {collective_time(asked, links, comm_.parameters), Bound::network, origin};
    kernel.is_shared = true;
    return kernel;
  }
  if (follows_load(call)) {
    kernel.price = price_call(kernel.call, load);
    if (AttentionLoad* own = attention_load_of(kernel.call.kernel)) *own = call.load_of(load);
    return kernel;
  }
  kernel.price = predictor_of(call.kernel).predict(call.kernel);
  return kernel;
}

const GroupLinks& StagePricer::links_of(const Collective& collective) const {
  // Sends to experts and back: theirs are GPUs of their own.
  if (collective.op == CollectiveOp::send_recv && collective.group == CommGroup::expert_parallel)
    return links_.experts;
  switch (collective.group) {
    case CommGroup::context_parallel:
      return links_.context;
    case CommGroup::prompt_parallel:
      return links_.prompts;
    case CommGroup::expert_parallel:
      return links_.stage;
    case CommGroup::tensor_parallel:
    case CommGroup::next_stage:
      break;
  }
  return links_.tensor;
}

}  // namespace foretoken
