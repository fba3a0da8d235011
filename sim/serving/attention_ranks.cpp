#include "sim/serving/attention_ranks.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "sim/base/fingerprint.hpp"

namespace foretoken {
namespace {

/// What a waiting sequence counts beside a running one (vLLM).
constexpr std::int64_t waiting_weight = 4;

}  // namespace

void AttentionRanks::tell(PrefixListener* listener) {
  for (Rank& rank : ranks_) rank.cache->tell(listener);
}

void AttentionRanks::add(std::unique_ptr<KvCache> cache, std::unique_ptr<Scheduler> scheduler,
                         std::unique_ptr<EncoderCache> images) {
  const bool is_minded = scheduler->mind_media(images.get());
  FORETOKEN_CHECK(is_minded, "a scheduler that knows nothing of images");
  ranks_.push_back({std::move(cache), std::move(images), std::move(scheduler)});
}

bool AttentionRanks::can_hold(std::int64_t tokens) const {
  const KvCache& cache = *ranks_.front().cache;  // all are of one size
  return cache.blocks_for(tokens) <= cache.blocks();
}

bool AttentionRanks::can_serve(const Sequence& sequence) const {
  return can_hold(sequence.prompt_tokens + sequence.output_tokens + sequence.draft_room) &&
         ranks_.front().scheduler->can_serve(sequence);
}

std::size_t AttentionRanks::least_waiting() const {
  const auto load = [](const Rank& rank) {
    return waiting_weight * rank.scheduler->waiting() + rank.scheduler->running();
  };
  return static_cast<std::size_t>(std::ranges::min_element(ranks_, {}, load) - ranks_.begin());
}

/// Ranks shall hold as many: those with more than the others take none, which is all of them as
/// soon as they hold alike.
std::size_t AttentionRanks::fewest_tokens() const {
  const auto held = [](const Rank& rank) { return std::ssize(rank.held); };
  const auto most = held(*std::ranges::max_element(ranks_, {}, held));
  const bool are_alike =
      std::ranges::all_of(ranks_, [&](auto& rank) { return held(rank) == most; });
  const auto load = [&](const Rank& rank) {
    std::int64_t tokens = 0;
    for (const Sequence* sequence : rank.held) tokens += sequence->prompt_tokens;
    return std::tuple(!are_alike && held(rank) == most, tokens, held(rank));
  };
  return static_cast<std::size_t>(std::ranges::min_element(ranks_, {}, load) - ranks_.begin());
}

std::size_t AttentionRanks::chosen(RequestId id) const {
  switch (choice()) {
    case RankChoice::least_waiting:
      return least_waiting();
    case RankChoice::fewest_tokens:
      return fewest_tokens();
    case RankChoice::in_turn:
      break;
  }
  constexpr int well_mixed_from = 32;
  const std::uint64_t drawn = Fingerprint().add(std::uint64_t{id.value}).value() >> well_mixed_from;
  return (is_apart_ ? drawn : turns_) % ranks_.size();
}

void AttentionRanks::count(const Sequence& sequence) {
  if (choice() == RankChoice::fewest_tokens)
    ranks_[sequence.attention_rank].held.push_back(&sequence);
}

void AttentionRanks::discount(const Sequence& sequence) {
  std::erase(ranks_[sequence.attention_rank].held, &sequence);
}

std::int64_t AttentionRanks::queue_length(RequestId id) const {
  return ranks_[chosen(id)].scheduler->waiting();
}

void AttentionRanks::enqueue(Sequence& sequence) {
  sequence.attention_rank = chosen(sequence.record.id);
  ++turns_;
  count(sequence);
  ranks_[sequence.attention_rank].scheduler->enqueue(sequence);
}

void AttentionRanks::remove(Sequence& sequence) {
  Rank& rank = ranks_[sequence.attention_rank];
  std::erase(rank.arriving, &sequence);
  std::erase(retired_, &sequence);
  discount(sequence);
  rank.scheduler->remove(sequence);
}

std::optional<std::int64_t> AttentionRanks::reserve(Sequence& sequence) {
  const auto room = [](const Rank& rank) {
    const bool has_slot = rank.scheduler->free_slots() > std::ssize(rank.arriving);
    return std::pair(has_slot, rank.cache->free());
  };
  const auto freest = std::ranges::max_element(ranks_, {}, room);
  if (!room(*freest).first || freest->scheduler->waiting_for_blocks() > 0) return std::nullopt;
  KvCache& cache = *freest->cache;
  // What a replica sends comes from there: of several connectors vLLM asks the first
  // (MultiConnector).
  const PrefixMatch match = cache.match_prefix(sequence, false);
  // The first token comes with the cache, and drafts follow it at once.
  const std::int64_t tokens = std::max(freest->scheduler->tokens_to_join(sequence),
                                       sequence.prompt_tokens + 1 + sequence.draft_room);
  if (!cache.reserve(sequence, match, tokens)) return std::nullopt;
  sequence.attention_rank = static_cast<std::size_t>(freest - ranks_.begin());
  freest->arriving.push_back(&sequence);
  count(sequence);
  return match.tokens;
}

void AttentionRanks::join(Sequence& sequence) {
  Rank& rank = ranks_[sequence.attention_rank];
  std::erase(rank.arriving, &sequence);
  const bool is_held = rank.cache->grow(sequence, sequence.known_tokens());
  FORETOKEN_CHECK(is_held, "{} tokens came, blocks were reserved for fewer",
                  sequence.known_tokens());
  rank.scheduler->join(sequence);
}

void AttentionRanks::retire(Sequence& sequence) {
  discount(sequence);
  Sequence holder;
  KvCache::move_holding(sequence, holder);
  ranks_[sequence.attention_rank].scheduler->remove(sequence);
  KvCache::move_holding(holder, sequence);
  retired_.push_back(&sequence);
}

bool AttentionRanks::all_can_begin() const {
  return std::ranges::all_of(ranks_, [](const Rank& rank) {
    return rank.scheduler->waiting_for_blocks() > 0 && rank.scheduler->free_slots() > 0;
  });
}

bool AttentionRanks::any_is_idle() const {
  return std::ranges::any_of(ranks_,
                             [](const Rank& rank) { return rank.scheduler->running() == 0; });
}

bool AttentionRanks::next_batches(Seconds now, std::span<Batch> batches) {
  FORETOKEN_CHECK(batches.size() == ranks_.size(), "{} batches for {} ranks", batches.size(),
                  ranks_.size());
  const int longest = ranks_.front().scheduler->rank_wait_steps();
  const bool may_begin =
      longest == 0 || all_can_begin() || any_is_idle() || held_steps_ + 1 >= longest;
  bool any = false;
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    ranks_[i].scheduler->hold_prompts(!may_begin);
    if (!ranks_[i].scheduler->repeat(now, batches[i])) {
      batches[i].clear();
      batches[i].scheduled_at = now;
      ranks_[i].scheduler->next_batch(now, batches[i]);
    }
    any |= !batches[i].empty();
  }
  if (any) held_steps_ = may_begin ? 0 : held_steps_ + 1;
  return any;
}

std::int64_t AttentionRanks::waiting() const {
  std::int64_t sum = 0;
  for (const Rank& rank : ranks_) sum += rank.scheduler->waiting();
  return sum;
}

std::int64_t AttentionRanks::running() const {
  std::int64_t sum = 0;
  for (const Rank& rank : ranks_) sum += rank.scheduler->running();
  return sum;
}

std::int64_t AttentionRanks::blocks_used() const {
  std::int64_t sum = 0;
  for (const Rank& rank : ranks_) sum += rank.cache->used();
  return sum;
}

std::int64_t AttentionRanks::blocks() const {
  std::int64_t sum = 0;
  for (const Rank& rank : ranks_) sum += rank.cache->blocks();
  return sum;
}

void AttentionRanks::pass_media(Sequence& sequence, std::int64_t tokens) {
  // Without an image cache no request has any: a look at the sequence's own list would cost a miss.
  if (ranks_.front().images == nullptr || sequence.media.empty()) return;
  ranks_[sequence.attention_rank].images->pass(sequence, tokens);
}

EncoderTotals AttentionRanks::encoder_totals() const {
  EncoderTotals totals;
  for (const Rank& rank : ranks_)
    if (rank.images != nullptr) totals += rank.images->totals();
  return totals;
}

PrefixTotals AttentionRanks::prefix_totals() const {
  PrefixTotals totals;
  for (const Rank& rank : ranks_) totals += rank.cache->prefix_totals();
  return totals;
}

std::vector<PrefixCache::Evicted> AttentionRanks::idle_prefixes() const {
  std::vector<PrefixCache::Evicted> found;
  for (const Rank& rank : ranks_) {
    for (const PrefixCache::Evicted& chunk : rank.cache->idle_prefixes()) found.push_back(chunk);
  }
  return found;
}

HostTotals AttentionRanks::host_totals() const {
  HostTotals totals;
  for (const Rank& rank : ranks_) totals += rank.cache->host_totals();
  return totals;
}

}  // namespace foretoken
