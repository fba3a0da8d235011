// A store behind the cache and the host: what goes there by either policy, what comes back from it,
// and when.

#include "sim/serving/kv_store.hpp"

#include <gtest/gtest.h>

#include "sim/serving/kv_cache.hpp"

namespace foretoken::kv_store_test {
namespace {

KvStoreSettings settings_of(StoreWrites writes) {
  KvStoreSettings settings;
  settings.bandwidth = BytesPerSecond(2e9);
  settings.latency = Seconds(0.001);
  settings.writes = writes;
  return settings;
}

/// A prompt of chunks of 32 tokens, two blocks each, and one token more.
Sequence prompt_of(std::vector<std::uint64_t> hashes) {
  Sequence sequence;
  sequence.prefix_chunk_tokens = 32;
  sequence.prompt_tokens = 32 * std::ssize(hashes) + 1;
  sequence.output_tokens = 1;
  sequence.prefix_hashes = std::move(hashes);
  return sequence;
}

/// Computes the whole prompt and lets go of it.
void serve(KvCache& cache, std::vector<std::uint64_t> hashes) {
  Sequence sequence = prompt_of(std::move(hashes));
  ASSERT_TRUE(cache.start(sequence, cache.match_prefix(sequence), sequence.prompt_tokens));
  sequence.computed = sequence.prompt_tokens;
  cache.release(sequence);
}

TEST(KvStore, TakesWhatLeavesTheHostAndGivesItBack) {
  KvStore store(settings_of(StoreWrites::evicted), 100);
  KvCache cache(5, 16, true, {.blocks = 2}, {}, &store);
  serve(cache, {1, 2});
  EXPECT_FALSE(cache.take_copies().any());
  // Both chunks have to go for the next prompt. The host has room for one: chunk 2, the first to
  // go, is pushed on by chunk 1.
  serve(cache, {3, 4});
  KvCopies copies = cache.take_copies();
  EXPECT_EQ(copies.to_host, 4);
  EXPECT_EQ(copies.to_store, 2);
  EXPECT_TRUE(store.holds(2));
  EXPECT_FALSE(store.holds(1));
  Sequence again = prompt_of({1, 2});
  const PrefixMatch match = cache.match_prefix(again);
  EXPECT_EQ(match.tokens, 64);
  EXPECT_EQ(match.host_tokens, 32);
  EXPECT_EQ(match.store_tokens, 32);
  ASSERT_TRUE(cache.start(again, match, again.prompt_tokens));
  copies = cache.take_copies();
  EXPECT_EQ(copies.from_host, 2);
  EXPECT_EQ(copies.from_store, 2);
  EXPECT_EQ(cache.prefix_totals().computed.tokens_found, 64);
  EXPECT_EQ(cache.prefix_totals().computed.tokens_found_host, 32);
  EXPECT_EQ(cache.prefix_totals().computed.tokens_found_store, 32);
  cache.release(again);
}

TEST(KvStore, WithoutHostMemoryTakesWhatLeavesTheGpu) {
  KvStore store(settings_of(StoreWrites::evicted), 100);
  KvCache cache(5, 16, true, {}, {}, &store);
  serve(cache, {1, 2});
  serve(cache, {3, 4});
  const KvCopies copies = cache.take_copies();
  EXPECT_EQ(copies.to_store, 4);
  EXPECT_EQ(copies.to_host, 0);
  EXPECT_EQ(store.used(), 4);
}

// Of chunks 1 to 4 the store has 2, the host 1, the GPU 3 and 4. Of a prompt the last chunk is the
// one used longest ago.
TEST(KvStore, WhatADrainedReplicaHoldsIsTheHostsAndThenTheGpus) {
  KvStore store(settings_of(StoreWrites::evicted), 100);
  KvCache drained(5, 16, true, {.blocks = 2}, {}, &store);
  serve(drained, {1, 2});
  serve(drained, {3, 4});
  std::vector<std::uint64_t> held;
  for (const PrefixCache::Evicted& chunk : drained.idle_prefixes()) {
    held.push_back(chunk.run.first);
    EXPECT_EQ(chunk.blocks, 2);
    EXPECT_TRUE(store.keep(chunk.run.first, chunk.blocks));
  }
  EXPECT_EQ(held, (std::vector<std::uint64_t>{1, 4, 3}));
  EXPECT_EQ(store.used(), 8);
  const KvCache other(9, 16, true, {}, {}, &store);
  EXPECT_EQ(other.match_prefix(prompt_of({1, 2})).store_tokens, 64);
  EXPECT_EQ(other.match_prefix(prompt_of({3, 4})).store_tokens, 64);
}

TEST(KvStore, OthersFindWhatIsWrittenAsItIsComputed) {
  KvStore store(settings_of(StoreWrites::computed), 100);
  KvCache one(9, 16, true, {}, {}, &store), other(9, 16, true, {}, {}, &store);
  serve(one, {1, 2});
  EXPECT_EQ(one.take_copies().to_store, 4);
  const Sequence same = prompt_of({1, 2});
  EXPECT_EQ(other.match_prefix(same).store_tokens, 64);
  serve(other, {1, 2});
  const KvCopies copies = other.take_copies();
  EXPECT_EQ(copies.from_store, 4);
  EXPECT_EQ(copies.to_store, 0) << "it is there";
  EXPECT_EQ(other.match_prefix(same).store_tokens, 0) << "on its own GPU now";
}

TEST(KvStore, ForgetsWhatWasUsedLongestAgo) {
  KvStore store(settings_of(StoreWrites::computed), 4);
  KvCache cache(9, 16, true, {}, {}, &store);
  serve(cache, {1});
  serve(cache, {2});
  serve(cache, {3});
  EXPECT_FALSE(store.holds(1));
  EXPECT_TRUE(store.holds(2));
  EXPECT_EQ(store.used_peak(), 4);
}

TEST(KvStore, ReadsAndWritesPassOneAfterTheOther) {
  KvStore store(settings_of(StoreWrites::evicted), 4);
  // 2 GB at 2 GB/s, and 1 ms more until a read is there.
  Seconds codec;
  EXPECT_DOUBLE_EQ(store.read(Seconds(1), Bytes(2e9), codec).value(), 2.001);
  store.write(Seconds(1.5), Bytes(1e9));
  EXPECT_DOUBLE_EQ(store.read(Seconds(1.6), Bytes(2e9), codec).value(), 3.501);
  EXPECT_DOUBLE_EQ(store.read(Seconds(9), Bytes(2e9), codec).value(), 10.001);
}

TEST(KvStore, SendsFewerBytesWhereTheyAreCompressed) {
  KvStoreSettings settings = settings_of(StoreWrites::evicted);
  settings.compression = 4;
  KvStore store(settings, 100);
  // 8 GB are 2 GB on the way, at 2 GB/s.
  Seconds codec, other_codec;
  EXPECT_NEAR(store.read(Seconds(0.0), Bytes(8e9), codec).value(), 1.001, 1e-12);
  EXPECT_NEAR(store.read(Seconds(0.0), Bytes(8e9), codec).value(), 2.001, 1e-12);
  // Unpacked at 4 GB/s while they come: 2 s, though the next can be sent after 1.
  settings.codec_rate = BytesPerSecond(4e9);
  KvStore slow(settings, 100);
  EXPECT_NEAR(slow.read(Seconds(0.0), Bytes(8e9), codec).value(), 2.001, 1e-12);
  EXPECT_NEAR(slow.read(Seconds(0.0), Bytes(8e9), other_codec).value(), 3.001, 1e-12);
  // Two parts, sent after 2.5 and 3 s: the second waits until the first is unpacked.
  EXPECT_NEAR(slow.read(Seconds(0.0), Bytes(4e9), codec).value(), 3.001, 1e-12);
  EXPECT_NEAR(slow.read(Seconds(0.0), Bytes(4e9), codec).value(), 4.001, 1e-12);
}

TEST(KvStore, WhatIsPrefetchedIsFoundOnTheHost) {
  KvStore store(settings_of(StoreWrites::computed), 100);
  KvCache writer(9, 16, true, {}, {}, &store), reader(9, 16, true, {.blocks = 8}, {}, &store);
  serve(writer, {1, 2, 3});
  Sequence sequence = prompt_of({1, 2, 3, 9});
  sequence.is_prefetched = true;
  EXPECT_EQ(reader.match_prefix(sequence).tokens, 0);  // the step reads nothing
  const std::vector<std::uint64_t> there = reader.in_store(sequence);
  EXPECT_EQ(there, (std::vector<std::uint64_t>{1, 2, 3}));
  for (std::size_t i = 0; i < 2; ++i) reader.take_prefetched(there[i], 2);
  sequence.prefetched_tokens = 64;
  EXPECT_EQ(reader.in_store(sequence), (std::vector<std::uint64_t>{3}));
  const PrefixMatch match = reader.match_prefix(sequence);
  EXPECT_EQ(match.tokens, 64);
  EXPECT_EQ(match.host_tokens, 64);
  ASSERT_TRUE(reader.start(sequence, match, sequence.prompt_tokens));
  // They are the store's hits, and are copied from the host.
  EXPECT_EQ(reader.prefix_totals().computed.tokens_found_store, 64);
  EXPECT_EQ(reader.prefix_totals().computed.tokens_found_host, 0);
  const KvCopies copies = reader.take_copies();
  EXPECT_EQ(copies.from_host, 4);
  EXPECT_EQ(copies.from_store, 0);
  EXPECT_EQ(reader.host_totals().copies.prefetched, 4);
  reader.release(sequence);
}

}  // namespace
}  // namespace foretoken::kv_store_test
