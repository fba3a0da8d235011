// Prompt prefixes whose keys and values stay in the KV cache: chunks of blocks, found again by a
// hash that covers everything before them, so that equal hashes mean equal prefixes. A chunk that a
// sequence uses cannot go; one that nobody uses any more stays until its blocks are needed, the one
// unused longest first (of one sequence's chunks the last one first, since it is of no use without
// those before it).
//
// Contexts are long and are read again by every call: chunks whose hashes count up are handled as
// one (the prompts of conversations and agents are made of such runs), and others one by one. It
// changes nothing of what is kept or goes.
#pragma once

#include <tsl/robin_map.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "sim/base/error.hpp"
#include "sim/base/mixed_bits.hpp"
#include "workloads/requests/prefix_hashes.hpp"

namespace foretoken {

/// Is told of each prefix chunk that a replica can serve from now on without computing it, from its
/// GPUs or its host's memory, and of each that it no longer can.
class PrefixListener {
 public:
  virtual ~PrefixListener() = default;
  virtual void on_prefix_kept(std::uint64_t hash) = 0;
  virtual void on_prefix_gone(std::uint64_t hash) = 0;
};

class PrefixCache {
 public:
  /// A run's first chunks that are here, and their blocks.
  struct Found {
    std::int64_t chunks = 0, blocks = 0, idle_blocks = 0;
  };
  /// Does not count as a use.
  [[nodiscard]] Found find(PrefixRun run) const;
  [[nodiscard]] bool holds(std::uint64_t hash) const { return find({hash, 1}).chunks == 1; }

  /// Adds a run's first chunks, of `blocks` each, with one user, up to the first that is known.
  /// Returns how many these are.
  std::int64_t add(PrefixRun run, std::int64_t blocks);
  /// In which add() has put its last chunk.
  [[nodiscard]] std::uint32_t last_added() const { return last_added_; }
  /// Adds a chunk with one user as add() would, if it comes last in its page, right behind
  /// `segment`, a former last_added(), and is used alike. Else returns false and changes nothing.
  bool extend(std::uint32_t segment, std::uint64_t hash, std::int64_t blocks) {
    if (segment >= segments_.size()) return false;
    Segment& last = segments_[segment];
    const bool is_behind = last.page == page_of(hash) && last.end == place_of(hash);
    if (!is_behind || last.users != 1 || last.blocks != blocks || last.next != none) return false;
    ++last.end;
    return true;
  }
  /// One user more of each chunk, all of which are known; one less.
  void take(PrefixRun run);
  void give_back(PrefixRun run);
  /// A use of chunks that nobody holds; those that are not known, of `blocks` each, are added.
  void touch(PrefixRun run, std::int64_t blocks);

  /// Blocks of chunks that nobody uses.
  [[nodiscard]] std::int64_t idle_blocks() const { return idle_blocks_; }
  /// Went from the last to the first.
  struct Evicted {
    PrefixRun run;
    std::int64_t blocks = 0;  // of each chunk
  };
  /// Forgets the chunk unused longest, and those that it follows whose turn is next, as long as
  /// `blocks` are wanted. There must be an idle one.
  Evicted evict(std::int64_t blocks);

  /// Chunks are filed by pages: those whose hashes differ only in their last bits.
  static constexpr int page_bits = 8;
  static std::uint64_t page_of(std::uint64_t hash) { return hash >> page_bits; }
  static std::int32_t place_of(std::uint64_t hash) {
    return static_cast<std::int32_t>(hash & ((std::uint64_t{1} << page_bits) - 1));
  }
  /// The part of a run that is in its last page.
  static PrefixRun last_page_of(PrefixRun run);
  /// Whether any chunk of the page is here.
  [[nodiscard]] bool has_page(std::uint64_t page) const { return pages_.contains(page); }
  /// Chunks that nobody uses, one each, the one unused longest first.
  [[nodiscard]] std::vector<Evicted> idle() const;

 private:
  using Id = std::uint32_t;
  static constexpr Id none = ~Id{0};
  /// Chunks of one page one after the other, of equal use; idle ones left their users one after the
  /// other, the last one first.
  struct Segment {
    std::uint64_t page = 0;
    std::int32_t begin = 0, end = 0;  // places in the page
    std::int32_t blocks = 0;          // of each chunk
    std::int32_t users = 0;
    Id next = none;                 // in the page
    Id older = none, newer = none;  // among the idle

    [[nodiscard]] std::int64_t size() const { return end - begin; }
  };
  /// The part of a run that is in one page.
  struct Piece {
    std::uint64_t page;
    std::int32_t begin, end;
  };
  static Piece first_piece(PrefixRun run);
  static Piece last_piece(PrefixRun run);

  [[nodiscard]] Id head(std::uint64_t page) const {
    const auto found = pages_.find(page);
    return found != pages_.end() ? found->second : none;
  }
  Id new_segment(const Segment& segment);
  void free_segment(Id id);
  /// The segment's first chunks, up to the first that is known. Returns where they are (with those
  /// before, if they are used alike; none: its first chunk is known) and how many.
  std::pair<Id, std::int64_t> insert(Segment segment);
  /// Out of its page and of existence.
  void drop(Id id);
  /// Parts segments so that none crosses the piece's borders; puts those inside into inside_.
  void isolate(const Piece& piece);
  /// The same where all of the piece is known.
  void isolate_known(const Piece& piece);
  void split(Id id, std::int32_t at);
  /// Lets neighbours in the page that are used alike be one again.
  void join(std::uint64_t page);
  /// A segment with the next one; false: they are not alike.
  bool join_next(Id id);
  static bool is_followed_by(const Segment& segment, const Segment& later);
  static std::uint64_t hash_of(const Segment& segment) {
    return segment.page << page_bits | static_cast<std::uint64_t>(segment.begin);
  }
  void leave(const Piece& piece);
  void renew(const Piece& piece, std::int32_t blocks);
  void link_as_newest(Id id);
  void unlink(Id id);

  std::vector<Segment> segments_;
  std::vector<Id> free_;                                // of segments_
  tsl::robin_map<std::uint64_t, Id, MixedHash> pages_;  // their first segments; never walked
  std::vector<Id> inside_;                              // scratch
  Id oldest_ = none, newest_ = none, last_added_ = none;
  std::int64_t idle_blocks_ = 0;
};

/// Of a cache whose replica drains: prefixes that others are to find, and how many of them have
/// gone to where they will.
struct LeavingPrefixes {
  std::vector<PrefixCache::Evicted> chunks;
  std::size_t next = 0;
  bool has_begun = false;
};

}  // namespace foretoken
