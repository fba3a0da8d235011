// From a page of prefix chunks to its first segment (prefix_cache.hpp): a table of pages beside
// each other, in which a look-up reads one or two lines of memory where std::unordered_map reads
// three or four. Looked up, never walked.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace foretoken {

class PageMap {
 public:
  using Id = std::uint32_t;
  static constexpr Id none = ~Id{0};

  /// none: the page has no entry.
  [[nodiscard]] Id find(std::uint64_t page) const {
    return entries_.empty() ? none : entries_[place_of(page)].id;
  }
  [[nodiscard]] bool contains(std::uint64_t page) const { return find(page) != none; }
  /// The page's, added if it is not there; then it is `none`, which the caller has to change before
  /// the map is asked again. Valid until the next change.
  Id& operator[](std::uint64_t page) {
    if (4 * (size_ + 1) > 3 * entries_.size()) grow();
    Entry& entry = entries_[place_of(page)];
    if (entry.id == none) {
      entry.page = page;
      ++size_;
    }
    return entry.id;
  }
  /// The page has an entry.
  void erase(std::uint64_t page) {
    std::size_t hole = place_of(page);
    // Entries behind it that were put further on because of it move up.
    for (std::size_t at = next(hole); entries_[at].id != none; at = next(at)) {
      const std::size_t home = home_of(entries_[at].page);
      if (((at - home) & mask()) < ((at - hole) & mask())) continue;
      entries_[hole] = entries_[at];
      hole = at;
    }
    entries_[hole].id = none;
    --size_;
  }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  struct Entry {
    std::uint64_t page = 0;
    Id id = none;
  };

  [[nodiscard]] std::size_t mask() const { return entries_.size() - 1; }
  [[nodiscard]] std::size_t next(std::size_t place) const { return (place + 1) & mask(); }
  [[nodiscard]] std::size_t home_of(std::uint64_t page) const {
    return static_cast<std::size_t>((page * 0x9e3779b97f4a7c15U) >> shift_);
  }
  /// Where the page is, or would be.
  [[nodiscard]] std::size_t place_of(std::uint64_t page) const {
    std::size_t place = home_of(page);
    while (entries_[place].id != none && entries_[place].page != page) place = next(place);
    return place;
  }
  void grow() {
    constexpr std::size_t smallest = 16;
    const std::size_t size = entries_.empty() ? smallest : 2 * entries_.size();
    shift_ = 64 - std::countr_zero(size);
    for (const Entry& entry : std::exchange(entries_, std::vector<Entry>(size)))
      if (entry.id != none) entries_[place_of(entry.page)] = entry;
  }

  std::vector<Entry> entries_;  // a power of two of them, a quarter at least without a page
  std::size_t size_ = 0;
  int shift_ = 0;
};

}  // namespace foretoken
