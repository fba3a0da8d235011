// KV blocks that leave the GPU for the host's memory and come back: prefixes that were evicted, and
// sequences that were swapped out. Counts by hand.

#include <gtest/gtest.h>

#include "sim/serving/kv_cache.hpp"

namespace foretoken::kv_host_test {
namespace {

// Chunks of 32 tokens, two blocks of 16.
Sequence sequence_of(std::int64_t prompt_tokens, std::vector<std::uint64_t> hashes) {
  Sequence sequence;
  sequence.prompt_tokens = prompt_tokens;
  sequence.output_tokens = 10;
  sequence.prefix_chunk_tokens = 32;
  sequence.prefix_hashes = std::move(hashes);
  return sequence;
}

/// Starts it with its whole prompt; the match it began with.
PrefixMatch start(KvCache& cache, Sequence& sequence) {
  const PrefixMatch match = cache.match_prefix(sequence);
  EXPECT_TRUE(cache.start(sequence, match, sequence.prompt_tokens));
  sequence.computed = sequence.prompt_tokens;
  return match;
}

void run(KvCache& cache, Sequence sequence) {
  start(cache, sequence);
  cache.release(sequence);
}

TEST(HostTier, EvictedPrefixesAreFoundOnTheHost) {
  KvCache cache(8, 16, true, {.blocks = 8});
  run(cache, sequence_of(70, {1, 2}));  // 5 blocks, chunks 1 and 2 stay in 4 of them
  EXPECT_FALSE(cache.take_copies().any());
  run(cache, sequence_of(128, {11, 12, 13, 14}));  // all 8 blocks: 2 and 1 must go
  const KvCopies out = cache.take_copies();
  EXPECT_EQ(out.to_host, 4);
  EXPECT_EQ(out.from_host, 0);
  EXPECT_EQ(cache.host().used(), 4);

  Sequence again = sequence_of(70, {1, 2});
  const PrefixMatch match = start(cache, again);
  EXPECT_EQ(match.tokens, 64);
  EXPECT_EQ(match.host_tokens, 64);
  EXPECT_EQ(match.host_blocks, 4);
  EXPECT_EQ(match.blocks, 0);
  // 4 blocks come back, a fifth is for the rest of the prompt: of 11 to 14 the last three go.
  const KvCopies back = cache.take_copies();
  EXPECT_EQ(back.from_host, 4);
  EXPECT_EQ(back.to_host, 6);
  EXPECT_EQ(cache.host().used(), 8) << "14 and 13 came in beside 1 and 2; then 12 pushed 14 out";
  EXPECT_EQ(again.blocks, 5);
  cache.release(again);
  EXPECT_EQ(cache.used(), 0);
  EXPECT_EQ(cache.prefix_totals().computed.tokens_asked, 70 + 128 + 70);
  EXPECT_EQ(cache.prefix_totals().computed.tokens_found, 64);
  EXPECT_EQ(cache.prefix_totals().computed.tokens_found_host, 64);
}

TEST(HostTier, WhatIsOnTheGpuIsNotCopied) {
  KvCache cache(8, 16, true, {.blocks = 8});
  run(cache, sequence_of(70, {1, 2}));
  run(cache, sequence_of(100, {11, 12}));  // 7 blocks: chunk 2 and then chunk 1 go
  run(cache, sequence_of(33, {1}));        // chunk 1 comes back
  (void)cache.take_copies();
  Sequence again = sequence_of(70, {1, 2});
  const PrefixMatch match = start(cache, again);
  EXPECT_EQ(match.blocks, 2);
  EXPECT_EQ(match.idle_blocks, 2);
  EXPECT_EQ(match.host_blocks, 2);
  EXPECT_EQ(match.tokens, 64);
  EXPECT_EQ(cache.take_copies().from_host, 2);
}

TEST(HostTier, ACopyThatTheHostHasIsNotMadeAgain) {
  KvCache cache(8, 16, true, {.blocks = 16});
  run(cache, sequence_of(70, {1, 2}));
  run(cache, sequence_of(128, {11, 12, 13, 14}));
  run(cache, sequence_of(70, {1, 2}));  // back on the GPU, and on the host still
  (void)cache.take_copies();
  run(cache, sequence_of(128, {21, 22, 23, 24}));  // 8 blocks: 11, and 1 and 2 once more
  EXPECT_EQ(cache.take_copies().to_host, 2) << "chunk 11";
}

TEST(HostTier, TheLastTokenIsAlwaysComputed) {
  KvCache cache(4, 16, true, {.blocks = 8});
  run(cache, sequence_of(64, {1, 2}));
  run(cache, sequence_of(64, {11, 12}));
  EXPECT_EQ(cache.match_prefix(sequence_of(64, {1, 2})).tokens, 32);
  EXPECT_EQ(cache.match_prefix(sequence_of(65, {1, 2})).tokens, 64);
}

TEST(HostTier, WithoutItEvictedPrefixesAreLost) {
  KvCache cache(8, 16, true);
  run(cache, sequence_of(70, {1, 2}));
  run(cache, sequence_of(128, {11, 12, 13, 14}));
  EXPECT_EQ(cache.match_prefix(sequence_of(70, {1, 2})).tokens, 0);
  EXPECT_FALSE(cache.take_copies().any());
}

TEST(Swap, ASequenceComesBackWithAllItHad) {
  KvCache cache(8, 16, false, {.blocks = 6, .swaps = true});
  Sequence sequence = sequence_of(70, {});
  start(cache, sequence);
  cache.preempt(sequence);
  EXPECT_EQ(cache.used(), 0);
  EXPECT_EQ(cache.host().swapped(), 5);
  EXPECT_EQ(sequence.computed, 0);
  EXPECT_EQ(sequence.record.preemptions, 1);
  EXPECT_EQ(cache.take_copies().to_host, 5);

  const PrefixMatch match = cache.match_prefix(sequence);
  EXPECT_EQ(match.tokens, 70);
  EXPECT_EQ(match.host_blocks, 5);
  EXPECT_TRUE(cache.start(sequence, match, 71));
  EXPECT_EQ(cache.take_copies().from_host, 5);
  EXPECT_EQ(sequence.blocks, 5);
  EXPECT_EQ(cache.host().used(), 0);
  EXPECT_EQ(cache.host_totals().swapped, 1);
  EXPECT_EQ(cache.prefix_totals().computed.tokens_asked, 70) << "a preempted one asks once";
}

TEST(Swap, WhatFindsNoRoomIsComputedAgain) {
  KvCache cache(8, 16, false, {.blocks = 4, .swaps = true});
  Sequence sequence = sequence_of(70, {});
  start(cache, sequence);
  cache.preempt(sequence);
  EXPECT_EQ(sequence.swapped_blocks, 0);
  EXPECT_EQ(sequence.record.preemptions, 1);
  EXPECT_EQ(cache.host_totals().swapped, 0);
  EXPECT_FALSE(cache.take_copies().any());
  EXPECT_EQ(cache.match_prefix(sequence).tokens, 0);
}

TEST(Swap, IsNotDoneUnlessAskedFor) {
  KvCache cache(8, 16, false, {.blocks = 100});
  Sequence sequence = sequence_of(70, {});
  start(cache, sequence);
  cache.preempt(sequence);
  EXPECT_EQ(sequence.swapped_blocks, 0);
}

TEST(Swap, ThePrefixThatStayedOnTheGpuIsNotFetched) {
  KvCache cache(12, 16, true, {.blocks = 12, .swaps = true});
  Sequence sequence = sequence_of(100, {1, 2, 3});  // 7 blocks, 6 of them chunks
  start(cache, sequence);
  cache.preempt(sequence);
  (void)cache.take_copies();
  run(cache, sequence_of(110, {11, 12, 13}));  // 7 of 6 free ones: chunk 3 goes to the host
  (void)cache.take_copies();
  const PrefixMatch match = cache.match_prefix(sequence);
  EXPECT_EQ(match.tokens, 100);
  EXPECT_EQ(match.chunks, 2U);
  EXPECT_EQ(match.blocks, 4);
  EXPECT_EQ(match.host_blocks, 3);
  EXPECT_TRUE(cache.start(sequence, match, 101));
  EXPECT_EQ(cache.take_copies().from_host, 3);
  EXPECT_EQ(sequence.blocks, 7);
  // Chunk 3 is its own again and can be found.
  EXPECT_EQ(cache.match_prefix(sequence_of(100, {1, 2, 3})).blocks, 6);
  cache.release(sequence);
  EXPECT_EQ(cache.used(), 0);
  EXPECT_EQ(cache.host().swapped(), 0);
}

TEST(Swap, ASequenceThatIsGivenUpLeavesTheHost) {
  KvCache cache(8, 16, false, {.blocks = 8, .swaps = true});
  Sequence sequence = sequence_of(70, {});
  start(cache, sequence);
  cache.preempt(sequence);
  cache.release(sequence);
  EXPECT_EQ(cache.host().used(), 0);
}

TEST(Swap, AFailedStartChangesNothing) {
  KvCache cache(8, 16, false, {.blocks = 8, .swaps = true});
  Sequence sequence = sequence_of(70, {}), other = sequence_of(64, {});
  start(cache, sequence);
  cache.preempt(sequence);
  start(cache, other);
  EXPECT_FALSE(cache.start(sequence, cache.match_prefix(sequence), 71));
  EXPECT_EQ(sequence.swapped_blocks, 5);
  EXPECT_EQ(sequence.swapped_tokens, 70);
  cache.release(other);
  EXPECT_TRUE(cache.start(sequence, cache.match_prefix(sequence), 71));
}

TEST(Swap, ASequenceInFlightCannotBePreempted) {
  KvCache cache(8, 16, false, {.blocks = 8, .swaps = true});
  Sequence sequence = sequence_of(70, {});
  start(cache, sequence);
  sequence.steps_in_flight = 1;
  EXPECT_THROW(cache.preempt(sequence), InternalError);
}

}  // namespace
}  // namespace foretoken::kv_host_test
