#include "sim/serving/stage_pricer.hpp"

#include <algorithm>

#include "sim/serving/decode_lattice.hpp"

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

std::uint64_t template_key(const BatchShape& batch) {
  return static_cast<std::uint64_t>(batch.tokens) << 32 |
         static_cast<std::uint64_t>(batch.logit_rows);
}

}  // namespace

StagePricer::StagePricer(const Transformer& model, const ParallelLayout& layout,
                         const ExecutionSettings& execution, int stage, const GroupLinks& links,
                         const MemoPredictor& predictor)
    : program_(model, layout, execution, stage), links_(links), predictor_(predictor) {}

StagePrice StagePricer::price(const BatchShape& batch) {
  FORETOKEN_CHECK(batch.tokens < (std::int64_t{1} << 31), "a step of {} tokens", batch.tokens);
  Template*& known = template_of_[template_key(batch)];
  if (known == nullptr) known = &templates_.emplace_back(make_template(batch));
  Template& step = *known;
  ++step.uses;
  Seconds time = step.fixed_time;
  for (AttentionSlot& slot : step.attention) {
    const Prediction prediction = price_attention(slot.kernel, batch.attention);
    time += prediction.time * slot.calls;
    attention_time_ += prediction.time * slot.calls;
    attention_launches_[static_cast<std::size_t>(prediction.origin)] += slot.calls;
  }
  return {time, step.send_per_rank, step.shared};
}

Prediction StagePricer::price_attention(Kernel& kernel, const AttentionLoad& load) const {
  if (is_decode_sum(load)) return price_decode(kernel, load, predictor_);
  *attention_load_of(kernel) = load;
  return predictor_.inner().predict(kernel, predictor_.gpu());  // hardly ever comes again
}

StagePricer::Template StagePricer::make_template(const BatchShape& batch) const {
  Template made;
  for (const KernelCall& call : program_.kernels(batch)) {
    if (std::holds_alternative<Collective>(call.kernel)) {
      add_collective(call, made);
      continue;
    }
    AttentionSlot slot{call.kernel, call.calls};
    if (attention_load_of(slot.kernel) != nullptr) {
      made.attention.push_back(std::move(slot));
      continue;
    }
    const Prediction prediction = predictor_.predict(call.kernel);
    made.fixed_time += prediction.time * call.calls;
    add_time(made.time_by, kernel_name(call.kernel), prediction.time * call.calls);
    made.launches_by_origin[static_cast<std::size_t>(prediction.origin)] += call.calls;
  }
  return made;
}

void StagePricer::add_collective(const KernelCall& call, Template& made) const {
  const auto& collective = std::get<Collective>(call.kernel);
  if (collective.group == CommGroup::next_stage) {
    made.send_per_rank = Bytes(collective.bytes);
  } else if (links_.is_private) {
    const Seconds time =
        collective_time(collective.op, links_, Bytes(collective.bytes)) * call.calls;
    made.fixed_time += time;
    add_time(made.time_by, kernel_name(call.kernel), time);
    made.launches_by_origin[static_cast<std::size_t>(Origin::analytic)] += call.calls;
  } else {
    made.shared.push_back({collective.op, Bytes(collective.bytes), call.calls});
  }
}

void StagePricer::add_to(PriceTotals& totals) const {
  for (const Template& step : templates_) {
    const auto uses = static_cast<double>(step.uses);
    for (const auto& [family, time] : step.time_by) add_time(totals.time_by, family, time * uses);
    for (std::size_t i = 0; i < step.launches_by_origin.size(); ++i) {
      totals.launches_by_origin[i] += step.launches_by_origin[i] * step.uses;
    }
  }
  if (attention_time_ > Seconds(0.0)) add_time(totals.time_by, "attention", attention_time_);
  for (std::size_t i = 0; i < attention_launches_.size(); ++i) {
    totals.launches_by_origin[i] += attention_launches_[i];
  }
}

}  // namespace foretoken
