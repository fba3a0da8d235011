#include "sim/serving/draft_pricer.hpp"

#include <algorithm>
#include <utility>

namespace foretoken {
namespace {

/// `shape` with at most `most` queries of each decode: all that the draft has to catch up with.
BatchShape without_rejected(BatchShape shape, std::int64_t most) {
  AttentionLoad& load = shape.attention;
  if (load.decode.query_tokens_max <= most) return shape;
  const LoadSums before = load.decode;
  const std::int64_t queries = std::min(before.query_tokens, before.sequences * most);
  load.decode.query_tokens = queries;
  load.decode.query_tokens_max = most;
  load.decode.causal_pairs *=
      static_cast<double>(queries) / static_cast<double>(before.query_tokens);
  for (SequenceSlice& slice : load.sequences)
    if (slice.query_tokens <= before.query_tokens_max)
      slice.query_tokens = std::min(slice.query_tokens, most);
  shape.tokens -= before.query_tokens - queries;
  return shape;
}

/// Each sequence of `shape`, which decodes, `times` times.
BatchShape repeated(BatchShape shape, int times) {
  const AttentionLoad once = shape.attention;
  AttentionLoad& load = shape.attention;
  load.decode.sequences *= times;
  load.decode.query_tokens *= times;
  load.decode.context_tokens *= times;
  load.decode.causal_pairs *= times;
  for (int i = 1; i < times; ++i)
    load.sequences.insert(load.sequences.end(), once.sequences.begin(), once.sequences.end());
  shape.tokens *= times;
  shape.logit_rows *= times;
  return shape;
}

}  // namespace

DraftPricer::DraftPricer(std::unique_ptr<StagePricer> first, std::unique_ptr<StagePricer> following)
    : first_(std::move(first)), following_(std::move(following)) {}

Seconds DraftPricer::price(std::span<const Batch> ranks, const Work& work) {
  FORETOKEN_CHECK(work.passes >= 0, "{} passes of a draft", work.passes);
  if (work.passes == 0) return Seconds(0.0);
  shapes_.clear();
  for (const Batch& batch : ranks) {
    shapes_.push_back(work.known_tokens > 0 ? without_rejected(batch.shape, work.known_tokens)
                                            : batch.shape);
    shapes_.back().logit_rows = batch.drafting.logit_rows;
    shapes_.back().draft_rows = shapes_.back().verifying = 0;
  }
  Seconds time = first_->price(shapes_).time;
  const bool any_drafts =
      std::ranges::any_of(ranks, [](const Batch& batch) { return batch.drafting.tokens > 0; });
  if (work.passes > 1 && any_drafts) {
    shapes_.clear();
    for (const Batch& batch : ranks)
      shapes_.push_back(work.topk > 1 ? repeated(batch.drafting, work.topk) : batch.drafting);
    time += following_->price(shapes_).time * (work.passes - 1);
    ++following_prices_;
    following_passes_ += work.passes - 1;
  }
  total_ += time;
  return time;
}

void DraftPricer::add_to(PriceTotals& totals) const {
  constexpr std::string_view family = "draft";
  const auto known =
      std::ranges::find(totals.time_by, family, &std::pair<std::string_view, Seconds>::first);
  if (known != totals.time_by.end()) {
    known->second += total_;
  } else {
    totals.time_by.emplace_back(family, total_);
  }
  // A price of `pricer` stands for `passes` / `prices` passes.
  const auto add = [&](const StagePricer& pricer, std::int64_t passes, std::int64_t prices) {
    PriceTotals own;
    pricer.add_to(own);
    for (std::size_t i = 0; i < own.launches_by_origin.size(); ++i) {
      totals.launches_by_origin[i] += own.launches_by_origin[i] * passes / prices;
    }
  };
  add(*first_, 1, 1);
  if (following_prices_ > 0) add(*following_, following_passes_, following_prices_);
}

}  // namespace foretoken
