// How a pricer makes the templates of its steps: kernels and private collectives that follow from
// token counts are priced once, those that follow the attention load get a slot.
#include <algorithm>

#include "kernels/communication/communication_price.hpp"
#include "sim/serving/stage_pricer.hpp"

namespace foretoken {

bool StagePricer::follows_load(const KernelCall& call) {
  return call.part != LoadPart::all || std::visit(
                                           [](const auto& kernel) {
                                             return requires { kernel.load; };
                                           },
                                           call.kernel);
}

StagePricer::Template& StagePricer::template_for(TemplateMap& known, TemplateKey key,
                                                 const BatchShape& batch, StagePart part) {
  Template*& found = known[key];
  if (found == nullptr) found = &templates_.emplace_back(make_template(batch, part));
  return *found;
}

StagePricer::Template StagePricer::make_template(BatchShape batch, StagePart part) {
  // Other batches of as many tokens may have decodes or prompts: their kernels need a slot.
  for (LoadSums* load : {&batch.attention.decode, &batch.attention.prefill})
    load->query_tokens = std::max<std::int64_t>(load->query_tokens, 1);
  batch.attention.sequences.clear();  // each step fills in its own
  // Those of as many tokens may have others, or none: adapters have templates of their own.
  if (part != StagePart::adapted) batch.adapters = batch.adapted_tokens = 0;
  Template made;
  if (schedule_) {
    made.segments.known.resize(schedule_->streams().size());
    made.segments.shared.resize(schedule_->streams().size());
  }
  KernelSequence& kernels = made_kernels_;
  routed_[drawn_].program.list_kernels(batch, part, kernels);
  const StreamShares shares = stream_shares(kernels, batch.tokens);
  if (simulates_private()) made.course.emplace(kernels);
  made_families_.clear();
  std::vector<KernelCall> slots;
  for (std::size_t number = 0; number < kernels.size(); ++number) {
    const KernelCall& call = kernels[number];
    made.launches += call.calls;
    if (std::holds_alternative<Collective>(call.kernel)) {
      add_collective(number, call, made);
      continue;
    }
    if (follows_load(call)) {
      const bool is_product = std::holds_alternative<BatchedGemm>(call.kernel) ||
                              std::holds_alternative<Gemm>(call.kernel);
      if (!is_product) made.attention_launches += call.calls;
      if (made.course) made.course->add_slot(number, slots.size());
      slots.push_back(call);
      continue;
    }
    Prediction prediction = predictor_of(call.kernel).predict(call.kernel);
    prediction.time *= shares.of(call.stream);
    const Seconds time = prediction.time * call.calls;
    made.fixed_time += time;
    if (made.course) made.course->add_time(number, time);
    if (schedule_) add_segment_time(made.segments.known, call.segment, time);
    family_in(made_families_, kernel_name(call.kernel)).add(prediction, time);
    made.launches_by_origin[static_cast<std::size_t>(prediction.origin)] += call.calls;
  }
  made.slots = &shared_slots(std::move(slots));
  made.families = made_families_;  // a copy is no larger than it has to be
  return made;
}

namespace {

void clear_loads(std::vector<KernelCall>& slots) {
  for (KernelCall& slot : slots) {
    std::visit(
        []<class Own>(Own& kernel) {
          if constexpr (requires { kernel.load.sequences; }) {
            kernel.load.prefill = kernel.load.decode = {};
            kernel.load.sequences.clear();  // and keeps its memory
          } else if constexpr (requires { kernel.load; }) {
            kernel.load = {};
          } else if constexpr (std::is_same_v<Own, BatchedGemm>) {
            kernel.m = 0;
          }
        },
        slot.kernel);
  }
}

}  // namespace

std::vector<KernelCall>& StagePricer::shared_slots(std::vector<KernelCall> slots) {
  clear_loads(slots);
  for (std::vector<KernelCall>& known : slots_) {
    clear_loads(known);
    if (known == slots) return known;
  }
  return slots_.emplace_back(std::move(slots));
}

StreamShares StagePricer::stream_shares(const KernelSequence& kernels, std::int64_t tokens) const {
  return {kernels, tokens, [&](const Kernel& kernel) { return predictor_.predict(kernel).time; },
          gpu()};
}

/// Experts may have GPUs of another kind.
const MemoPredictor& StagePricer::predictor_of(const Kernel& kernel) const {
  const bool is_theirs = experts_predictor_ != nullptr && std::holds_alternative<FusedMoe>(kernel);
  return is_theirs ? *experts_predictor_ : predictor_;
}

void StagePricer::add_segment_time(std::vector<Seconds>& segments, int segment,
                                   Seconds time) const {
  segments[static_cast<std::size_t>(segment)] += time;
}

void StagePricer::add_collective(std::size_t number, const KernelCall& call, Template& made) {
  const auto& collective = std::get<Collective>(call.kernel);
  if (collective.group == CommGroup::next_stage) {
    made.send_per_rank = Bytes(collective.bytes);
    return;
  }
  const GroupLinks& links = links_of(collective);
  if (!links.is_private) {
    const auto [asked, origin] = priced_call(collective, links, comm_);
    made.launches_by_origin[static_cast<std::size_t>(origin)] += call.calls;
    if (schedule_) {
      add_segment_time(made.segments.shared, call.segment,
                       collective_time(asked, links, comm_.parameters) * call.calls);
    }
    made.shared.push_back({asked, call.calls, collective.group});
    if (links.ranks > 1) made.transfers_shared += call.calls;
    return;
  }
  const Prediction prediction = price_communication(collective, links, comm_);
  const Seconds time = prediction.time * call.calls;
  if (simulates_private()) {
    const CollectiveCall asked = priced_call(collective, links, comm_).call;
    const CollectiveCost cost = collective_cost(asked, links, comm_.parameters);
    made.course->add_traffic(number, cost.phases, collective.group, call.calls);
  } else if (links.ranks > 1) {
    made.transfers_priced += call.calls;
  }
  if (schedule_) add_segment_time(made.segments.known, call.segment, time);
  made.fixed_time += time;
  family_in(made_families_, kernel_name(call.kernel)).add(prediction, time);
  made.launches_by_origin[static_cast<std::size_t>(prediction.origin)] += call.calls;
}

}  // namespace foretoken
