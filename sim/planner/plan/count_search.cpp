#include "sim/planner/plan/count_search.hpp"

#include <algorithm>

#include "sim/base/error.hpp"

namespace foretoken {

CountSearch::CountSearch(int least, int most, int guess)
    : least_(least),
      most_(most),
      guess_(std::clamp(guess, least, most)),
      fails_(least - 1),
      preferred_(most) {
  FORETOKEN_CHECK(least >= 1 && least <= most, "a search from {} to {}", least, most);
}

CountSearch CountSearch::one_by_one(int least, int most) { return upward(least, most, most); }

CountSearch CountSearch::upward(int least, int most, int singles) {
  CountSearch search(least, most, least);
  search.singles_ = singles;
  return search;
}

std::optional<int> CountSearch::next() const {
  if (!holds_) {
    if (fails_ >= most_) return std::nullopt;
    const int count = has_failed_ ? std::min(most_, fails_ + step_) : guess_;
    return fails_ < preferred_ ? std::min(count, preferred_) : count;
  }
  if (*holds_ == fails_ + 1) return std::nullopt;
  if (!has_failed_) return std::max(least_, *holds_ - step_);
  return fails_ + (*holds_ - fails_) / 2;
}

void CountSearch::take(int count, bool holds) {
  FORETOKEN_CHECK(next() == count, "an answer for {} that was not asked for", count);
  const bool steps_on = holds ? holds_.has_value() : has_failed_;
  if (steps_on && singles_ > 0) {
    --singles_;
  } else if (steps_on) {
    step_ *= 2;
  }
  if (holds) {
    holds_ = count;
  } else {
    fails_ = count;
    has_failed_ = true;
  }
}

}  // namespace foretoken
