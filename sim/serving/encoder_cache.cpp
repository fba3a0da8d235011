#include "sim/serving/encoder_cache.hpp"

#include <algorithm>

#include "sim/base/error.hpp"

namespace foretoken {
namespace {

void count_reached(EncoderTotals& counts, const MediaPatches& patches, bool is_found) {
  EncodedItems& items = counts.of(patches.medium);
  ++items.reached;
  items.tokens += patches.tokens;
  if (is_found) ++items.found;
}

}  // namespace

EncoderTotals& EncoderTotals::operator+=(const EncoderTotals& other) {
  for (const Medium medium : all_media) {
    EncodedItems& own = of(medium);
    const EncodedItems& more = other.of(medium);
    own.reached += more.reached;
    own.found += more.found;
    own.tokens += more.tokens;
    own.encoded += more.encoded;
  }
  return *this;
}

void EncoderCache::begin_step() {
  budget_ = limits_.step_tokens;
  encodes_any_ = false;
}

EncoderCache::Entry* EncoderCache::find(std::uint64_t identity) {
  const auto found = std::ranges::find(entries_, identity, &Entry::identity);
  return found != entries_.end() ? &*found : nullptr;
}

bool EncoderCache::has_room(std::int64_t tokens) const {
  return held_ == 0 || held_ + tokens <= limits_.cache_tokens;
}

/// What nobody needs goes, the one longest idle first.
void EncoderCache::make_room(std::int64_t tokens) {
  while (used_ > held_ && used_ + tokens > limits_.cache_tokens) {
    const Entry* oldest = nullptr;
    for (const Entry& entry : entries_) {
      if (entry.holders > 0) continue;
      if (oldest == nullptr || entry.idle_since < oldest->idle_since) oldest = &entry;
    }
    erase(oldest->identity);
  }
}

void EncoderCache::erase(std::uint64_t identity) {
  const auto found = std::ranges::find(entries_, identity, &Entry::identity);
  used_ -= found->tokens;
  entries_.erase(found);
}

void EncoderCache::hold(Entry& entry, SequenceItem& image) {
  if (entry.holders++ == 0) held_ += entry.tokens;
  image.is_held = true;
}

void EncoderCache::let_go(SequenceItem& image) {
  if (!image.is_held) return;
  image.is_held = false;
  if (rule_ == EncoderRule::by_request) return;
  if (rule_ == EncoderRule::for_request) {
    used_ -= image.patches.tokens;
    held_ -= image.patches.tokens;
    return;
  }
  Entry& entry = *find(image.identity);
  if (--entry.holders > 0) return;
  held_ -= entry.tokens;
  entry.idle_since = ++releases_;
}

namespace {

/// Of all of a request's images together.
std::uint64_t identity_of_all(const Sequence& sequence) {
  std::uint64_t all = 0;
  for (const SequenceItem& image : sequence.media)
    all = (all ^ image.identity) * 0x9e3779b97f4a7c15U + (all >> 29);
  return all;
}

std::int64_t tokens_of_all(const Sequence& sequence) {
  std::int64_t tokens = 0;
  for (const SequenceItem& image : sequence.media) tokens += image.patches.tokens;
  return tokens;
}

}  // namespace

void EncoderCache::reach_all(Sequence& sequence, std::int64_t computed) {
  if (sequence.media.empty() || sequence.media.back().end() <= computed) return;
  const bool was_reached = sequence.media.front().is_held;
  if (rule_ == EncoderRule::for_request && was_reached) return;
  Entry* known = rule_ == EncoderRule::by_request ? find(identity_of_all(sequence)) : nullptr;
  if (known != nullptr) known->idle_since = ++releases_;
  const bool is_there = known != nullptr || sequence.brings_media;
  if (is_there && was_reached) return;
  planned_of_ = &sequence;
  for (const SequenceItem& image : sequence.media) {
    count_reached(planned_counts_, image.patches, is_there);
    if (!is_there) planned_.push_back(image.patches);
  }
}

void EncoderCache::take_all(Sequence& sequence) {
  const bool is_kept = rule_ == EncoderRule::for_request;
  for (SequenceItem& image : sequence.media) {
    image.is_held = true;
    if (!is_kept) continue;
    used_ += image.patches.tokens;
    held_ += image.patches.tokens;
  }
  if (!is_kept && !planned_.empty()) keep_all(sequence);
}

/// An entry is all images of a request, which nobody holds; the one used longest ago goes first.
void EncoderCache::keep_all(const Sequence& sequence) {
  const std::int64_t tokens = tokens_of_all(sequence);
  if (tokens > limits_.cache_tokens) return;
  make_room(tokens);
  entries_.push_back({identity_of_all(sequence), tokens, 0, ++releases_});
  used_ += tokens;
}

std::int64_t EncoderCache::reach(Sequence& sequence, std::int64_t computed, std::int64_t tokens) {
  settle();
  budget_before_ = budget_;
  encoded_before_ = encodes_any_;
  if (rule_ != EncoderRule::in_budget) {
    reach_all(sequence, computed);
    return tokens;
  }
  for (std::size_t i = 0; i < sequence.media.size(); ++i) {
    SequenceItem& image = sequence.media[i];
    if (image.first_token >= computed + tokens) break;
    if (image.end() <= computed || image.is_held) continue;
    const std::int64_t size = image.patches.tokens;
    Entry* known = find(image.identity);
    if (known == nullptr) {
      const bool has_budget = sequence.brings_media || size <= budget_ || !encodes_any_;
      const bool is_within = has_budget && has_room(size);
      if (!is_within) return std::max<std::int64_t>(0, image.first_token - computed);
      make_room(size);
      entries_.push_back({image.identity, size, 0, 0});
      used_ += size;
      if (!sequence.brings_media) {
        budget_ = std::max<std::int64_t>(0, budget_ - size);
        encodes_any_ = true;
        planned_.push_back(image.patches);
      }
      known = &entries_.back();
      taken_.push_back({i, true});
    } else {
      taken_.push_back({i, false});
    }
    count_reached(planned_counts_, image.patches, !taken_.back().is_new);
    hold(*known, image);
  }
  return tokens;
}

void EncoderCache::encode(std::vector<MediaPatches>& images) {
  for (const MediaPatches& image : planned_) {
    images.push_back(image);
    totals_.of(image.medium).encoded += image.tokens;
  }
  if (planned_of_ != nullptr) take_all(*planned_of_);
  totals_ += planned_counts_;
  settle();
}

/// What the last reach() did stands.
void EncoderCache::settle() {
  taken_.clear();
  planned_.clear();
  planned_of_ = nullptr;
  planned_counts_ = {};
}

/// Those that were to be encoded are not there; a later one of the same sequence may have held on
/// to an earlier one, so that all let go before any goes.
void EncoderCache::forgo(Sequence& sequence) {
  for (const Taken& taken : taken_) let_go(sequence.media[taken.image]);
  for (const Taken& taken : taken_) {
    if (taken.is_new) erase(sequence.media[taken.image].identity);
  }
  budget_ = budget_before_;
  encodes_any_ = encoded_before_;
  settle();
}

void EncoderCache::pass(Sequence& sequence, std::int64_t computed) {
  const bool is_kept_whole = rule_ != EncoderRule::in_budget;
  if (is_kept_whole && (rule_ == EncoderRule::by_request || sequence.prompt_tokens > computed))
    return;
  for (SequenceItem& image : sequence.media) {
    if (image.end() > computed) break;
    let_go(image);
  }
}

void EncoderCache::release(Sequence& sequence) {
  for (SequenceItem& image : sequence.media) let_go(image);
}

}  // namespace foretoken
