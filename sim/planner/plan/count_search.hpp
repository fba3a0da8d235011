// The least number of replicas that holds: doubling steps away from a guess (or up from the least)
// until one count fails and a larger one holds, then halving what lies between. Takes it that more
// replicas never do worse; a guess that is right costs two answers.
#pragma once

#include <optional>

namespace foretoken {

class CountSearch {
 public:
  /// From `least` (nothing smaller can hold) to `most`, 1 <= least <= most.
  CountSearch(int least, int most, int guess);
  /// One count after the other from `least` up to the first that holds, trusting in nothing.
  static CountSearch one_by_one(int least, int most);
  /// From `least` up, the first `singles` steps of one, then doubling: where few are enough, no
  /// search takes fewer answers than counting.
  static CountSearch upward(int least, int most, int singles);

  /// The count to be tried next; nullopt: the search is over.
  [[nodiscard]] std::optional<int> next() const;
  void take(int count, bool holds);

  /// The least count that holds; nullopt: none up to `most`, once the search is over.
  [[nodiscard]] std::optional<int> found() const { return holds_; }
  /// The largest count that is known not to hold.
  [[nodiscard]] int fails() const { return fails_; }
  /// Counts above `count` are of no interest before those up to it have failed.
  void prefer_at_most(int count) { preferred_ = count; }

 private:
  int least_, most_, guess_;
  int fails_;
  std::optional<int> holds_;
  bool has_failed_ = false;  // by trial, not only by `least`
  int preferred_;
  int step_ = 1;
  int singles_ = 0;  // steps of one that are still to be taken before they double
};

}  // namespace foretoken
