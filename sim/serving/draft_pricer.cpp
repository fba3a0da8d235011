#include "sim/serving/draft_pricer.hpp"

#include <algorithm>
#include <utility>

namespace foretoken {

DraftPricer::DraftPricer(std::unique_ptr<StagePricer> first, std::unique_ptr<StagePricer> following,
                         int drafts)
    : first_(std::move(first)), following_(std::move(following)), drafts_(drafts) {
  FORETOKEN_CHECK(drafts >= 1, "a draft of {} passes", drafts);
}

Seconds DraftPricer::price(std::span<const Batch> ranks) {
  shapes_.clear();
  for (const Batch& batch : ranks) {
    shapes_.push_back(batch.shape);
    shapes_.back().logit_rows = batch.drafting.logit_rows;
  }
  Seconds time = first_->price(shapes_).time;
  const bool any_drafts =
      std::ranges::any_of(ranks, [](const Batch& batch) { return batch.drafting.tokens > 0; });
  if (drafts_ > 1 && any_drafts) {
    shapes_.clear();
    for (const Batch& batch : ranks) shapes_.push_back(batch.drafting);
    time += following_->price(shapes_).time * (drafts_ - 1);
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
  const auto add = [&](const StagePricer& pricer, std::int64_t times) {
    PriceTotals own;
    pricer.add_to(own);
    for (std::size_t i = 0; i < own.launches_by_origin.size(); ++i) {
      totals.launches_by_origin[i] += own.launches_by_origin[i] * times;
    }
  };
  add(*first_, 1);
  add(*following_, drafts_ - 1);
}

}  // namespace foretoken
