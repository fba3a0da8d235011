#include "sim/serving/draft_pricer.hpp"

#include <algorithm>
#include <utility>

namespace foretoken {

DraftPricer::DraftPricer(std::unique_ptr<StagePricer> first, std::unique_ptr<StagePricer> following)
    : first_(std::move(first)), following_(std::move(following)) {}

Seconds DraftPricer::price(std::span<const Batch> ranks, int drafts) {
  FORETOKEN_CHECK(drafts >= 0, "{} drafts", drafts);
  if (drafts == 0) return Seconds(0.0);
  shapes_.clear();
  for (const Batch& batch : ranks) {
    shapes_.push_back(batch.shape);
    shapes_.back().logit_rows = batch.drafting.logit_rows;
  }
  Seconds time = first_->price(shapes_).time;
  const bool any_drafts =
      std::ranges::any_of(ranks, [](const Batch& batch) { return batch.drafting.tokens > 0; });
  if (drafts > 1 && any_drafts) {
    shapes_.clear();
    for (const Batch& batch : ranks) shapes_.push_back(batch.drafting);
    time += following_->price(shapes_).time * (drafts - 1);
    ++following_prices_;
    following_passes_ += drafts - 1;
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
