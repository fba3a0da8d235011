// Hashes of a prompt's consecutive blocks, each covering everything before it, so that equal hashes
// mean equal prefixes. Contexts have a thousand blocks and are read again by every call: they are
// kept as runs of hashes that count up, of which the prompts of conversations and agents have two
// or three. A trace's hashes that do not count up are runs of one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

namespace foretoken {

/// Chunks one after the other in a prompt, whose hashes count up from `first`.
struct PrefixRun {
  std::uint64_t first = 0;
  std::int64_t count = 0;

  /// Hash of the chunk behind the last.
  [[nodiscard]] std::uint64_t end() const { return first + static_cast<std::uint64_t>(count); }
  /// Without its first chunks.
  [[nodiscard]] PrefixRun behind(std::int64_t chunks) const {
    return {first + static_cast<std::uint64_t>(chunks), count - chunks};
  }
  friend bool operator==(const PrefixRun&, const PrefixRun&) = default;
};

/// A part of a prompt's hashes, run by run; the outer ones may be cut short. A view.
class PrefixRuns {
 public:
  class Iterator {
   public:
    Iterator(const PrefixRun* run, std::int64_t skipped, std::int64_t left)
        : run_(run), skipped_(skipped), left_(left) {}
    PrefixRun operator*() const {
      const PrefixRun rest = run_->behind(skipped_);
      return {rest.first, std::min(rest.count, left_)};
    }
    Iterator& operator++() {
      left_ -= (**this).count;
      skipped_ = 0;
      ++run_;
      return *this;
    }
    bool operator==(std::default_sentinel_t) const { return left_ == 0; }

   private:
    const PrefixRun* run_;
    std::int64_t skipped_, left_;
  };

  /// `chunks` of those that lie behind the first `skipped` of `run`.
  PrefixRuns(const PrefixRun* run, std::int64_t skipped, std::int64_t chunks)
      : run_(run), skipped_(skipped), chunks_(chunks) {}

  [[nodiscard]] Iterator begin() const { return {run_, skipped_, chunks_}; }
  [[nodiscard]] static std::default_sentinel_t end() { return {}; }
  /// Chunks, not runs.
  [[nodiscard]] std::int64_t size() const { return chunks_; }
  [[nodiscard]] bool empty() const { return chunks_ == 0; }

  /// Runs are as long as they can be, so that equal hashes are cut alike.
  friend bool operator==(const PrefixRuns& some, const PrefixRuns& others) {
    if (some.size() != others.size()) return false;
    Iterator other = others.begin();
    for (const PrefixRun run : some) {
      if (run != *other) return false;
      ++other;
    }
    return true;
  }
  void append_to(std::vector<PrefixRun>& runs) const {
    for (const PrefixRun run : *this) runs.push_back(run);
  }

 private:
  const PrefixRun* run_;
  std::int64_t skipped_, chunks_;
};

class PrefixHashes {
 public:
  using value_type = std::uint64_t;

  /// One by one.
  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = std::uint64_t;
    using difference_type = std::ptrdiff_t;
    using pointer = const std::uint64_t*;
    using reference = std::uint64_t;

    Iterator() = default;
    Iterator(const PrefixRun* run, std::int64_t place) : run_(run), place_(place) {}
    std::uint64_t operator*() const { return run_->first + static_cast<std::uint64_t>(place_); }
    Iterator& operator++() {
      if (++place_ == run_->count) {
        place_ = 0;
        ++run_;
      }
      return *this;
    }
    Iterator operator++(int) {
      const Iterator before = *this;
      ++*this;
      return before;
    }
    friend bool operator==(const Iterator&, const Iterator&) = default;

   private:
    const PrefixRun* run_ = nullptr;
    std::int64_t place_ = 0;
  };
  using iterator = Iterator;
  using const_iterator = Iterator;

  PrefixHashes() = default;
  PrefixHashes(std::span<const std::uint64_t> hashes) {
    for (const std::uint64_t hash : hashes) push_back(hash);
  }
  PrefixHashes(const std::vector<std::uint64_t>& hashes) : PrefixHashes(std::span(hashes)) {}
  PrefixHashes(std::initializer_list<std::uint64_t> hashes)
      : PrefixHashes(std::span(hashes.begin(), hashes.size())) {}

  [[nodiscard]] Iterator begin() const { return {runs_.data(), 0}; }
  [[nodiscard]] Iterator end() const { return {runs_.data() + runs_.size(), 0}; }
  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(size_); }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::uint64_t front() const { return runs_.front().first; }
  [[nodiscard]] std::uint64_t operator[](std::size_t place) const {
    const auto at = static_cast<std::int64_t>(place);
    return (*part(at, at + 1).begin()).first;
  }

  /// The first ones, or all if there are no more.
  [[nodiscard]] PrefixRuns first(std::int64_t chunks) const {
    return {runs_.data(), 0, std::min(chunks, size_)};
  }
  /// Those from `begin` to before `end`. Found from the back, where answers are published.
  [[nodiscard]] PrefixRuns part(std::int64_t begin, std::int64_t end) const {
    std::int64_t before = size_;
    auto run = runs_.end();
    while (run != runs_.begin() && before > begin) before -= (--run)->count;
    return {runs_.data() + (run - runs_.begin()), begin - before, end - begin};
  }

  void push_back(std::uint64_t hash) { append({hash, 1}); }
  void append(PrefixRun run) {
    if (run.count <= 0) return;
    size_ += run.count;
    if (run.end() != 0 && run.end() < run.first) {  // one ends with the last hash
      const auto until_last = static_cast<std::int64_t>(-run.first);
      append_whole({run.first, until_last});
      run = run.behind(until_last);
    }
    append_whole(run);
  }
  void append(PrefixRuns runs) {
    for (const PrefixRun run : runs) append(run);
  }
  /// Becomes these, with the memory that it has.
  void assign(PrefixRuns runs) {
    clear();
    append(runs);
  }
  /// Leaves the first ones.
  void shorten(std::int64_t chunks) {
    if (chunks >= size_) return;
    while (size_ > chunks) {
      PrefixRun& last = runs_.back();
      const std::int64_t gone = std::min(last.count, size_ - chunks);
      size_ -= gone;
      last.count -= gone;
      if (last.count == 0) runs_.pop_back();
    }
  }
  /// Adds the same to each.
  void shift(std::uint64_t by) {
    PrefixHashes shifted;
    for (const PrefixRun& run : runs_) shifted.append({run.first + by, run.count});
    *this = std::move(shifted);
  }
  void clear() {
    runs_.clear();
    size_ = 0;
  }
  friend bool operator==(const PrefixHashes&, const PrefixHashes&) = default;

 private:
  void append_whole(PrefixRun run) {
    const bool goes_on = !runs_.empty() && run.first != 0 && runs_.back().end() == run.first;
    goes_on ? void(runs_.back().count += run.count) : runs_.push_back(run);
  }

  std::vector<PrefixRun> runs_;  // as few as there can be; none counts beyond the last hash
  std::int64_t size_ = 0;
};

}  // namespace foretoken
