#include "sim/serving/stage_pricer.hpp"

#include <algorithm>

#include "kernels/latent_prompts.hpp"
#include "sim/serving/kernel_slots.hpp"
#include "workloads/batch_parts.hpp"

namespace foretoken {
namespace {

void add_time(std::vector<std::pair<std::string_view, Seconds>>& times, std::string_view family,
              Seconds time) {
  const auto found = std::ranges::find(times, family, &std::pair<std::string_view, Seconds>::first);
  if (found != times.end()) {
    found->second += time;
  } else {
    times.emplace_back(family, time);
  }
}

/// Prompts decide how experts are exchanged, and how prompts attend.
std::uint64_t template_key(std::int64_t first, std::int64_t second, bool which) {
  FORETOKEN_CHECK(first < (std::int64_t{1} << 31), "a step of {} tokens", first);
  return static_cast<std::uint64_t>(first) << 32 | static_cast<std::uint64_t>(second) << 1 |
         static_cast<std::uint64_t>(which);
}

/// An attention rank without sequences takes part with one token.
std::int64_t tokens_of(const BatchShape& rank) { return std::max<std::int64_t>(rank.tokens, 1); }

}  // namespace

StagePricer::StagePricer(const Transformer& model, const ParallelLayout& layout,
                         const ExecutionSettings& execution, int stage, const StageLinks& links,
                         const CommSettings& comm, const MemoPredictor& predictor,
                         const MemoPredictor* experts)
    : layout_(layout),
      random_(RandomStreams(execution.routing_draw.seed)
                  .stream(fmt::format("expert_routing/{}", stage))),
      links_(links),
      comm_(comm),
      predictor_(predictor),
      experts_predictor_(experts),
      decodes_(predictor),
      parts_(execution.batch_parts(layout)) {
  ExecutionSettings settings = execution;
  const auto add = [&](const Routing& routing) {
    settings.routing = routing;
    routed_.push_back({StageProgram(model, layout, settings, stage), {}, {}});
  };
  for (const Routing& routing : execution.routing_draw.each) add(routing);
  if (routed_.empty()) add(execution.routing);
  if (parts_ > 1 || layout.expert_gpus > 0) schedule_.emplace(routed_.front().program.blocks());
}

StagePrice StagePricer::price(std::span<const BatchShape> ranks) {
  if (routed_.size() > 1) {
    const double share = uniform(random_) * static_cast<double>(routed_.size());
    drawn_ = static_cast<std::size_t>(share);
  }
  if (schedule_) {
    const std::vector<std::vector<BatchShape>> parts = split_ranks(ranks, parts_);
    if (parts.size() > 1 || layout_.expert_gpus > 0) return overlap(parts);
  }
  Pass pass = run(ranks);
  return {pass.time,
          pass.send_per_rank,
          pass.launches,
          pass.attention_launches,
          std::move(pass.shared),
          simulates_private() ? pass.order.rounds() : std::vector<StepRounds>()};
}

StagePrice StagePricer::overlap(std::span<const std::vector<BatchShape>> parts) {
  StagePrice price;
  std::vector<OverlappedStep::Part> segments;
  for (const std::vector<BatchShape>& ranks : parts) {
    Pass pass = run(ranks);
    price.send_per_rank += pass.send_per_rank;
    price.launches += pass.launches;
    price.attention_launches += pass.attention_launches;
    price.shared.insert(price.shared.end(), pass.shared.begin(), pass.shared.end());
    segments.push_back(std::move(pass.segments));
  }
  OverlappedStep step(*schedule_, std::move(segments));
  price.time = step.time(1);
  if (layout_.expert_gpus > 0) sides_ += step.sides();
  if (!price.shared.empty()) price.overlap = std::move(step);
  return price;
}

StagePricer::TemplateKey StagePricer::key_of(const BatchShape& batch, bool has_prompts) const {
  const bool is_dense = routed_[drawn_].program.attends_densely(batch);
  return {template_key(batch.tokens, batch.logit_rows, has_prompts),
          template_key(batch.draft_rows, batch.verifying, is_dense)};
}

StagePricer::Pass StagePricer::run(std::span<const BatchShape> ranks) {
  if (ranks.size() > 1) return run_together(ranks);
  BatchShape share;
  if (layout_.prefill_context > 1) share = share_of_prompts(ranks.front(), layout_);
  const BatchShape& batch = layout_.prefill_context > 1 ? share : ranks.front();
  Template& step = template_for(routed_[drawn_].template_of,
                                key_of(batch, exchanges_prompts(batch) || forks_as_prompts(batch)),
                                batch, StagePart::all);
  price_slots(step, batch.attention);
  Pass pass;
  add(step, pass);
  add_slots(step, pass);
  if (simulates_private()) pass.order.add(*step.course, slot_prices_);
  add_adapted(adapted_template_for(batch), pass);
  return pass;
}

StagePricer::Template* StagePricer::adapted_template_for(const BatchShape& batch) {
  if (batch.adapters == 0) return nullptr;
  return &template_for(routed_[drawn_].adapted_template_of,
                       {template_key(batch.adapted_tokens, batch.adapters, false)}, batch,
                       StagePart::adapted);
}

void StagePricer::add_adapted(Template* adapted, Pass& pass) {
  if (adapted == nullptr) return;
  add(*adapted, pass);
  if (simulates_private()) pass.order.add(*adapted->course, {});
}

BatchShape StagePricer::joint_shape(std::span<const BatchShape> ranks) {
  BatchShape all;
  for (const BatchShape& rank : ranks) {
    all.stage_tokens += tokens_of(rank);
    all.stage_tokens_max = std::max(all.stage_tokens_max, tokens_of(rank));
    all.stage_has_prompts = all.stage_has_prompts || rank.has_prompts();
  }
  all.tokens = all.stage_tokens_max;
  return all;
}

StagePricer::Pass StagePricer::run_together(std::span<const BatchShape> ranks) {
  const BatchShape all = joint_shape(ranks);
  Template *slowest = nullptr, *slowest_adapted = nullptr;
  Seconds longest;
  std::vector<Prediction> slowest_slots;
  for (const BatchShape& rank : ranks) {
    if (rank.tokens == 0) continue;
    Template& step = template_for(routed_[drawn_].template_of, key_of(rank, forks_as_prompts(rank)),
                                  rank, StagePart::local);
    Template* adapted = adapted_template_for(rank);
    const Seconds time = step.fixed_time + price_slots(step, rank.attention) +
                         (adapted != nullptr ? adapted->fixed_time : Seconds(0.0));
    if (slowest != nullptr && time <= longest) continue;
    slowest = &step;
    slowest_adapted = adapted;
    longest = time;
    slowest_slots = slot_prices_;
  }
  FORETOKEN_CHECK(slowest != nullptr, "a step of {} ranks without work", ranks.size());
  Pass pass;
  add(*slowest, pass);
  slot_prices_ = std::move(slowest_slots);
  add_slots(*slowest, pass);
  if (simulates_private()) pass.order.add(*slowest->course, slot_prices_);
  add_adapted(slowest_adapted, pass);
  Template& joint =
      template_for(routed_[drawn_].joint_template_of,
                   {template_key(all.stage_tokens, all.stage_tokens_max, exchanges_prompts(all))},
                   all, StagePart::joint);
  add(joint, pass);
  if (simulates_private()) pass.order.add(*joint.course, {});
  return pass;
}

void StagePricer::add(Template& step, Pass& pass) {
  ++step.uses;
  pass.time += step.fixed_time;
  pass.send_per_rank += step.send_per_rank;
  pass.launches += step.launches;
  pass.attention_launches += step.attention_launches;
  pass.shared.insert(pass.shared.end(), step.shared.begin(), step.shared.end());
  if (!schedule_) return;
  const std::size_t segments = schedule_->streams().size();
  pass.segments.known.resize(segments);
  pass.segments.shared.resize(segments);
  for (std::size_t i = 0; i < segments; ++i) {
    pass.segments.known[i] += step.segments.known[i];
    pass.segments.shared[i] += step.segments.shared[i];
  }
}

Seconds StagePricer::price_slots(Template& step, const AttentionLoad& load) {
  slot_prices_.clear();
  Seconds sum;
  for (KernelCall& slot : *step.slots) {
    Prediction& price = slot_prices_.emplace_back(price_call(slot, load));
    price.time *= slot.calls;
    sum += price.time;
  }
  return sum;
}

void StagePricer::add_slots(const Template& step, Pass& pass) {
  for (std::size_t i = 0; i < step.slots->size(); ++i) {
    const KernelCall& slot = (*step.slots)[i];
    const Prediction& price = slot_prices_[i];
    if (price.time == Seconds(0.0)) continue;
    pass.time += price.time;
    if (schedule_) add_segment_time(pass.segments.known, slot.segment, price.time);
    family_in(slot_families_, kernel_name(slot.kernel)).add(price, price.time);
    slot_launches_[static_cast<std::size_t>(price.origin)] += slot.calls;
  }
}

Prediction StagePricer::price_call(KernelCall& call, const AttentionLoad& step) const {
  if (call.part == LoadPart::all && call.context_parts == 1) return price_slot(call.kernel, step);
  if (call.part == LoadPart::prefill && step.prefill.sequences == 0) return {};
  const AttentionLoad load = call.load_of(step);
  if (load.empty()) return {};
  if (auto* product = std::get_if<Gemm>(&call.kernel)) {  // makes keys and values from latents
    const Framework framework = product->implementation.framework;
    product->m = call.expands_cached ? load.prefill.context_tokens
                                     : expanded_latents(load.prefill, framework);
    return product->m == 0 ? Prediction() : predictor_.predict(call.kernel);
  }
  return price_slot(call.kernel, load);
}

Prediction StagePricer::price_slot(Kernel& kernel, const AttentionLoad& load) const {
  if (auto* batched = std::get_if<BatchedGemm>(&kernel)) {
    batched->m = load.decode.query_tokens;
    return batched->m == 0 ? Prediction() : predictor_.predict(kernel);
  }
  if (std::int64_t* const tokens = row_count_of(kernel)) {  // of prompts
    *tokens = load.prefill.query_tokens;
    return *tokens == 0 ? Prediction() : predictor_.predict(kernel);
  }
  if (is_launched_apart(kernel) && load.prefill.sequences > 0 && load.decode.sequences > 0) {
    Prediction sum = price_slot(kernel, load.of(LoadPart::prefill));
    const Prediction decode = price_slot(kernel, load.of(LoadPart::decode));
    if (decode.time > sum.time) sum.bound_by = decode.bound_by;
    sum.time += decode.time;
    return sum;
  }
  if (StateLoad* own = state_load_of(kernel)) {
    *own = StateLoad::of(load);
    return own->tokens() == 0 ? Prediction() : predictor_.predict(kernel);
  }
  if (is_decode(load)) return decodes_.price(kernel, load);
  *attention_load_of(kernel) = load;
  return predictor_.inner().predict(kernel, predictor_.gpu());  // hardly ever comes again
}

void StagePricer::add_to(PriceTotals& totals) const {
  const auto add = [&](const FamilyTime& family, double times) {
    add_time(totals.time_by, family.family, family.time * times);
    family_in(totals.families, family.family).add(family, times);
  };
  for (const Template& step : templates_) {
    const auto uses = static_cast<double>(step.uses);
    for (const FamilyTime& family : step.families) add(family, uses);
    for (std::size_t i = 0; i < step.launches_by_origin.size(); ++i) {
      totals.launches_by_origin[i] += step.launches_by_origin[i] * step.uses;
    }
    totals.transfers_priced += step.transfers_priced * step.uses;
    totals.transfers_shared += step.transfers_shared * step.uses;
  }
  totals.sides += sides_;
  for (const FamilyTime& family : slot_families_) add(family, 1);
  for (std::size_t i = 0; i < slot_launches_.size(); ++i) {
    totals.launches_by_origin[i] += slot_launches_[i];
  }
}

}  // namespace foretoken
