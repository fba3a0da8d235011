#include "sim/serving/prefix_cache.hpp"

#include <algorithm>
#include <utility>

namespace foretoken {
namespace {

constexpr std::uint64_t page_chunks = std::uint64_t{1} << PrefixCache::page_bits;

}  // namespace

PrefixCache::Piece PrefixCache::first_piece(PrefixRun run) {
  const std::int64_t begin = place_of(run.first);
  const auto end = std::min(begin + run.count, static_cast<std::int64_t>(page_chunks));
  return {page_of(run.first), static_cast<std::int32_t>(begin), static_cast<std::int32_t>(end)};
}

PrefixCache::Piece PrefixCache::last_piece(PrefixRun run) {
  const std::uint64_t last = run.end() - 1;
  const std::int64_t end = std::int64_t{place_of(last)} + 1;
  const auto begin = std::max<std::int64_t>(end - run.count, 0);
  return {page_of(last), static_cast<std::int32_t>(begin), static_cast<std::int32_t>(end)};
}

PrefixRun PrefixCache::last_page_of(PrefixRun run) {
  const Piece piece = last_piece(run);
  const std::int64_t count = piece.end - piece.begin;
  return {run.end() - static_cast<std::uint64_t>(count), count};
}

PrefixCache::Found PrefixCache::find(PrefixRun run) const {
  Found found;
  while (found.chunks < run.count) {
    const Piece piece = first_piece(run.behind(found.chunks));
    std::int32_t place = piece.begin;
    for (Id id = head(piece.page); id != none && place < piece.end; id = segments_[id].next) {
      const Segment& segment = segments_[id];
      if (segment.end <= place) continue;
      if (segment.begin > place) return found;
      const std::int64_t chunks = std::min(segment.end, piece.end) - place;
      found.chunks += chunks;
      found.blocks += chunks * segment.blocks;
      if (segment.users == 0) found.idle_blocks += chunks * segment.blocks;
      place += static_cast<std::int32_t>(chunks);
    }
    if (place < piece.end) break;
  }
  return found;
}

std::int64_t PrefixCache::add(PrefixRun run, std::int64_t blocks) {
  std::int64_t added = 0;
  while (run.count > 0) {
    const Piece piece = first_piece(run);
    const auto [id, count] =
        insert({piece.page, piece.begin, piece.end, static_cast<std::int32_t>(blocks), 1});
    if (id != none) {
      join_next(id);
      last_added_ = id;
    }
    added += count;
    if (count < piece.end - piece.begin) break;
    run = run.behind(count);
  }
  return added;
}

void PrefixCache::take(PrefixRun run) {
  while (run.count > 0) {
    const Piece piece = first_piece(run);
    isolate_known(piece);
    for (const Id id : inside_) {
      Segment& segment = segments_[id];
      if (segment.users++ > 0) continue;
      unlink(id);
      idle_blocks_ -= segment.size() * segment.blocks;
    }
    join(piece.page);
    run = run.behind(piece.end - piece.begin);
  }
}

/// The last chunk first: it is then the first to go.
void PrefixCache::give_back(PrefixRun run) {
  while (run.count > 0) {
    const Piece piece = last_piece(run);
    leave(piece);
    run.count -= piece.end - piece.begin;
  }
}

void PrefixCache::leave(const Piece& piece) {
  isolate_known(piece);
  for (std::size_t i = inside_.size(); i-- > 0;) {
    Segment& segment = segments_[inside_[i]];
    FORETOKEN_CHECK(segment.users > 0, "prefix chunk {:x} is given back by nobody",
                    hash_of(segment));
    if (--segment.users > 0) continue;
    link_as_newest(inside_[i]);
    idle_blocks_ += segment.size() * segment.blocks;
  }
  join(piece.page);
}

void PrefixCache::touch(PrefixRun run, std::int64_t blocks) {
  while (run.count > 0) {
    const Piece piece = last_piece(run);
    renew(piece, static_cast<std::int32_t>(blocks));
    run.count -= piece.end - piece.begin;
  }
}

void PrefixCache::renew(const Piece& piece, std::int32_t blocks) {
  isolate(piece);
  for (const Id id : inside_) {
    const Segment& segment = segments_[id];
    FORETOKEN_CHECK(segment.users == 0, "{} users of a prefix chunk that nobody holds",
                    segment.users);
    unlink(id);
    idle_blocks_ -= segment.size() * segment.blocks;
    drop(id);
  }
  const auto [id, count] = insert({piece.page, piece.begin, piece.end, blocks, 0});
  FORETOKEN_CHECK(count == piece.end - piece.begin, "of {} prefix chunks {} are new",
                  piece.end - piece.begin, count);
  link_as_newest(id);
  idle_blocks_ += segments_[id].size() * blocks;
  join_next(id);
}

PrefixCache::Evicted PrefixCache::evict(std::int64_t blocks) {
  FORETOKEN_CHECK(oldest_ != none, "no prefix chunk is idle");
  const Id id = oldest_;
  Segment& segment = segments_[id];
  const std::int64_t wanted = (blocks + segment.blocks - 1) / segment.blocks;
  const std::int64_t count = std::min(wanted, segment.size());
  segment.end -= static_cast<std::int32_t>(count);
  idle_blocks_ -= count * segment.blocks;
  const std::uint64_t first = segment.page << page_bits | static_cast<std::uint64_t>(segment.end);
  const Evicted evicted{{first, count}, segment.blocks};
  if (segment.size() == 0) {
    unlink(id);
    drop(id);
  }
  return evicted;
}

std::vector<PrefixCache::Evicted> PrefixCache::idle() const {
  std::vector<Evicted> found;
  for (Id id = oldest_; id != none; id = segments_[id].newer) {
    const Segment& segment = segments_[id];
    for (std::int64_t i = segment.size(); i-- > 0;)
      found.push_back({{hash_of(segment) + static_cast<std::uint64_t>(i), 1}, segment.blocks});
  }
  return found;
}

PrefixCache::Id PrefixCache::new_segment(const Segment& segment) {
  if (free_.empty()) {
    segments_.push_back(segment);
    return static_cast<Id>(segments_.size() - 1);
  }
  const Id id = free_.back();
  free_.pop_back();
  segments_[id] = segment;
  return id;
}

void PrefixCache::free_segment(Id id) {
  segments_[id].users = 0;  // extend() knows it no more
  free_.push_back(id);
}

std::pair<PrefixCache::Id, std::int64_t> PrefixCache::insert(Segment segment) {
  Id& first = pages_.try_emplace(segment.page, none).first.value();
  Id before = none, next = first;
  while (next != none && segments_[next].begin <= segment.begin)
    before = std::exchange(next, segments_[next].next);
  if (before != none && segments_[before].end > segment.begin) return {none, 0};
  if (next != none) segment.end = std::min(segment.end, segments_[next].begin);
  if (before != none && segment.users > 0 && is_followed_by(segments_[before], segment)) {
    segments_[before].end = segment.end;
    return {before, segment.size()};
  }
  const Id id = new_segment(segment);
  segments_[id].next = next;
  (before == none ? first : segments_[before].next) = id;
  return {id, segment.size()};
}

void PrefixCache::drop(Id id) {
  const std::uint64_t page = segments_[id].page;
  if (const Id first = head(page); first == id) {
    const Id next = segments_[id].next;
    if (next != none) {
      pages_[page] = next;
    } else {
      pages_.erase(page);
    }
  } else {
    Id before = first;
    while (segments_[before].next != id) before = segments_[before].next;
    segments_[before].next = segments_[id].next;
  }
  free_segment(id);
}

void PrefixCache::isolate(const Piece& piece) {
  inside_.clear();
  for (Id id = head(piece.page); id != none; id = segments_[id].next) {
    if (segments_[id].end <= piece.begin) continue;
    if (segments_[id].begin >= piece.end) break;
    if (segments_[id].begin < piece.begin) {
      split(id, piece.begin);
      continue;
    }
    if (segments_[id].end > piece.end) split(id, piece.end);
    inside_.push_back(id);
  }
}

void PrefixCache::isolate_known(const Piece& piece) {
  isolate(piece);
  std::int64_t known = 0;
  for (const Id id : inside_) known += segments_[id].size();
  FORETOKEN_CHECK(known == piece.end - piece.begin, "of {} prefix chunks {} are in the cache",
                  piece.end - piece.begin, known);
}

/// The later chunks of an idle segment are older.
void PrefixCache::split(Id id, std::int32_t at) {
  Segment later = segments_[id];
  later.begin = at;
  const bool is_idle = later.users == 0;
  if (is_idle) later.newer = id;
  const Id second = new_segment(later);
  Segment& segment = segments_[id];
  segment.end = at;
  segment.next = second;
  if (!is_idle) return;
  (later.older == none ? oldest_ : segments_[later.older].newer) = second;
  segment.older = second;
}

bool PrefixCache::is_followed_by(const Segment& segment, const Segment& later) {
  return later.begin == segment.end && later.users == segment.users &&
         later.blocks == segment.blocks;
}

void PrefixCache::join(std::uint64_t page) {
  for (Id id = head(page); id != none; id = segments_[id].next) {
    while (join_next(id)) {
    }
  }
}

bool PrefixCache::join_next(Id id) {
  Segment& segment = segments_[id];
  const Id next = segment.next;
  if (next == none || !is_followed_by(segment, segments_[next])) return false;
  const bool is_idle = segment.users == 0;
  if (is_idle && segment.older != next) return false;
  if (is_idle) unlink(next);
  segment.end = segments_[next].end;
  segment.next = segments_[next].next;
  free_segment(next);
  return true;
}

void PrefixCache::link_as_newest(Id id) {
  segments_[id].older = newest_;
  segments_[id].newer = none;
  (newest_ == none ? oldest_ : segments_[newest_].newer) = id;
  newest_ = id;
}

void PrefixCache::unlink(Id id) {
  const Segment& segment = segments_[id];
  (segment.older == none ? oldest_ : segments_[segment.older].newer) = segment.newer;
  (segment.newer == none ? newest_ : segments_[segment.newer].older) = segment.older;
}

}  // namespace foretoken
