// A step that repeats the last one a token further must be the step that the scheduler would have
// chosen, and answers published one chunk behind the other must be found as if each had been looked
// up: random runs beside an engine that takes neither short cut.
#include <gtest/gtest.h>

#include <random>

#include "tests/unit/serving/engine_fixture.hpp"

namespace foretoken {
namespace {

/// Heard or not, chunks of a cache that somebody listens to are published one by one.
class DeafListener : public PrefixListener {
 public:
  void on_prefix_kept(std::uint64_t /*hash*/) override {}
  void on_prefix_gone(std::uint64_t /*hash*/) override {}
};

class Pair {
 public:
  Pair(const std::string& scheduler, std::int64_t blocks, std::uint32_t seed)
      : random_(seed),
        fast_(blocks, 4, {.batch_tokens_max = 64, .sequences_max = 12, .adapters_max = 2},
              options(scheduler), scheduler, true),
        slow_(blocks, 4, {.batch_tokens_max = 64, .sequences_max = 12, .adapters_max = 2},
              options(scheduler), scheduler, true) {
    batch_.lists_sequences = true;
    slow_.cache.tell(&listener_);
  }

  void run(int steps) {
    for (int step = 0; step < steps && !testing::Test::HasFailure(); ++step) {
      if (draw(0, 9) == 0) submit();
      if (draw(0, 60) == 0) give_up();
      take_step();
      compare();
      fast_.complete(batch_);
      slow_.complete(slow_batch_);
    }
  }
  [[nodiscard]] int repeated() const { return repeated_; }

 private:
  static std::string options(const std::string& scheduler) {
    return scheduler == "sarathi" ? "chunk_tokens = 24" : "";
  }
  std::int64_t draw(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random_);
  }

  /// A turn of one of a few conversations: what was said before, the question, and the answer,
  /// whose hashes are known as well.
  void submit() {
    const auto talk = static_cast<std::uint64_t>(draw(1, 4)) << 20;
    Sequence sequence;
    sequence.prompt_tokens = draw(1, 120);
    sequence.output_tokens = draw(1, 90);
    sequence.prefix_chunk_tokens = 8;
    if (draw(0, 2) == 0) sequence.adapter = static_cast<std::uint32_t>(draw(0, 3));
    const std::int64_t chunks = (sequence.prompt_tokens + sequence.output_tokens - 1) / 8;
    sequence.prefix_hashes.append({talk, chunks / 2});
    sequence.prefix_hashes.append(
        {talk + (draw(0, 1) == 0 ? 1000 : chunks / 2), chunks - chunks / 2});
    fast_.submit(sequence);
    slow_.submit(sequence);
  }

  void give_up() {
    if (fast_.sequences.empty()) return;
    const auto at = static_cast<std::size_t>(draw(0, std::ssize(fast_.sequences) - 1));
    if (fast_.sequences[at].is_done() || fast_.is_given_up(fast_.sequences[at])) return;
    fast_.give_up(fast_.sequences[at]);
    slow_.give_up(slow_.sequences[at]);
  }

  void take_step() {
    if (fast_.scheduler->repeat({}, batch_)) {
      ++repeated_;
    } else {
      batch_.clear();
      fast_.scheduler->next_batch({}, batch_);
    }
    slow_batch_ = slow_.next();
  }

  void compare() {
    EXPECT_EQ(step_text(batch_), step_text(slow_batch_));
    EXPECT_EQ(batch_.shape.attention, slow_batch_.shape.attention);
    EXPECT_EQ(batch_.shape.tokens, slow_batch_.shape.tokens);
    EXPECT_EQ(batch_.shape.logit_rows, slow_batch_.shape.logit_rows);
    EXPECT_EQ(batch_.shape.adapters, slow_batch_.shape.adapters);
    EXPECT_EQ(batch_.shape.adapted_tokens, slow_batch_.shape.adapted_tokens);
    EXPECT_EQ(batch_.adapters, slow_batch_.adapters);
    EXPECT_EQ(batch_.admissions, slow_batch_.admissions);
    ASSERT_EQ(batch_.entries.size(), slow_batch_.entries.size());
    for (std::size_t i = 0; i < batch_.entries.size(); ++i) {
      EXPECT_EQ(batch_.entries[i].context_tokens, slow_batch_.entries[i].context_tokens);
      EXPECT_EQ(batch_.entries[i].samples, slow_batch_.entries[i].samples);
    }
    EXPECT_EQ(fast_.cache.used(), slow_.cache.used());
    EXPECT_EQ(fast_.cache.free(), slow_.cache.free());
    Sequence asks;
    asks.prompt_tokens = 2000;
    asks.prefix_chunk_tokens = 8;
    asks.prefix_hashes.append({static_cast<std::uint64_t>(draw(1, 4)) << 20, 40});
    EXPECT_EQ(fast_.cache.match_prefix(asks).chunks, slow_.cache.match_prefix(asks).chunks);
    EXPECT_EQ(fast_.cache.match_prefix(asks).idle_blocks,
              slow_.cache.match_prefix(asks).idle_blocks);
  }

  std::mt19937 random_;
  DeafListener listener_;
  EngineFixture fast_, slow_;
  Batch batch_, slow_batch_;
  int repeated_ = 0;
};

TEST(RepeatedBatch, IsWhatTheSchedulerWouldChoose) {
  for (const char* scheduler : {"vllm_v1", "sarathi"}) {
    for (const std::int64_t blocks : {60, 120, 1000}) {  // preemptions, evictions, neither
      for (std::uint32_t seed = 0; seed < 20; ++seed) {
        SCOPED_TRACE(testing::Message() << scheduler << ", " << blocks << " blocks, " << seed);
        Pair pair(scheduler, blocks, seed);
        pair.run(400);
        ASSERT_FALSE(HasFailure());
        EXPECT_GT(pair.repeated(), blocks == 1000 ? 50 : 0);
      }
    }
  }
}

/// A scheduler that counts what it serves is asked every time.
TEST(RepeatedBatch, IsNotForSchedulersThatCount) {
  EngineFixture engine(100, 4, {.batch_tokens_max = 64, .sequences_max = 4}, "", "vtc");
  engine.submit(8, 20);
  Batch batch;
  for (int step = 0; step < 5; ++step) {
    EXPECT_FALSE(engine.scheduler->repeat({}, batch));
    batch.clear();
    engine.scheduler->next_batch({}, batch);
    engine.complete(batch);
  }
}

TEST(RepeatedBatch, NeedsTheBatchThatWasFilledLast) {
  EngineFixture engine(100, 4, {.batch_tokens_max = 64, .sequences_max = 4});
  engine.submit(8, 20);
  Batch batch, other;
  engine.scheduler->next_batch({}, batch);  // the prompt
  engine.complete(batch);
  EXPECT_FALSE(engine.scheduler->repeat({}, batch));
  batch.clear();
  engine.scheduler->next_batch({}, batch);
  engine.complete(batch);
  EXPECT_FALSE(engine.scheduler->repeat({}, other));
  engine.submit(8, 20);
  EXPECT_FALSE(engine.scheduler->repeat({}, batch));  // somebody waits
}

}  // namespace
}  // namespace foretoken
