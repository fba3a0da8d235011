// Laws that every scheduler must obey under any traffic: no request is lost, tokens add up, blocks
// stay within the cache, limits hold, and work never stalls while someone waits.

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

#include "sim/base/random.hpp"
#include "tests/unit/serving/engine_fixture.hpp"

namespace foretoken {
namespace {

/// Random prompts and outputs, up to `depth` steps in flight, a cache that is often too small.
void run_random_traffic(std::uint64_t seed, std::size_t depth) {
  RandomStream random = RandomStreams(seed).stream("traffic");
  const auto draw = [&](std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(uniform(random) * static_cast<double>(high - low + 1));
  };
  const std::int64_t blocks = draw(12, 60);
  const SchedulerLimits limits{.batch_tokens_max = draw(8, 200),
                               .sequences_max = static_cast<int>(draw(1, 8))};
  EngineFixture engine(blocks, 8, limits);
  std::int64_t computed_tokens = 0, drawn_tokens = 0;
  std::deque<Batch> flight;
  const int requests = 60;
  int submitted = 0;

  for (int round = 0; round < 100'000; ++round) {
    if (submitted < requests && uniform(random) < 0.4) {
      const std::int64_t prompt = draw(1, 60);
      engine.submit(prompt, draw(1, 96 - prompt));  // 96 tokens = 12 blocks: fits alone
      ++submitted;
    }
    if (flight.size() < depth) {
      Batch batch = engine.next();
      std::int64_t tokens = 0;
      for (const BatchEntry& entry : batch.entries) {
        ASSERT_GE(entry.new_tokens, 1);
        ASSERT_EQ(entry.samples, entry.context_tokens == entry.sequence->known_tokens());
        ASSERT_GE(entry.sequence->blocks * 8, entry.context_tokens);
        tokens += entry.new_tokens;
      }
      ASSERT_EQ(tokens, batch.shape.tokens);
      ASSERT_LE(tokens, limits.batch_tokens_max);
      ASSERT_LE(engine.scheduler->running(), limits.sequences_max);
      ASSERT_EQ(batch.shape.attention.query_tokens(), tokens);
      if (flight.empty() && engine.scheduler->waiting() + engine.scheduler->running() > 0) {
        ASSERT_FALSE(batch.empty()) << "stalled in round " << round;
      }
      computed_tokens += tokens;
      if (!batch.empty()) flight.push_back(std::move(batch));
    }
    ASSERT_GE(engine.cache.free(), 0);
    ASSERT_LE(engine.cache.used(), blocks);
    std::int64_t held = 0;
    for (const Sequence& sequence : engine.sequences) held += sequence.blocks;
    ASSERT_EQ(held, engine.cache.used());
    if (!flight.empty() && (flight.size() == depth || uniform(random) < 0.5)) {
      drawn_tokens += flight.front().shape.logit_rows;
      engine.complete(flight.front());
      flight.pop_front();
    }
    if (submitted == requests && flight.empty() && engine.scheduler->running() == 0 &&
        engine.scheduler->waiting() == 0) {
      break;
    }
  }

  std::int64_t prompt_tokens = 0, output_tokens = 0;
  bool is_preempted = false;
  for (const Sequence& sequence : engine.sequences) {
    EXPECT_TRUE(sequence.is_done());
    EXPECT_EQ(sequence.produced, sequence.output_tokens);
    EXPECT_EQ(sequence.steps_in_flight, 0);
    prompt_tokens += sequence.prompt_tokens;
    output_tokens += sequence.output_tokens;
    is_preempted = is_preempted || sequence.record.preemptions > 0;
  }
  EXPECT_EQ(drawn_tokens, output_tokens);
  // Every prompt token and every output token but each request's last one is computed once, and
  // more only where something was preempted.
  const std::int64_t needed = prompt_tokens + output_tokens - requests;
  const std::int64_t recomputed_tokens = computed_tokens - needed;
  EXPECT_GE(recomputed_tokens, 0);
  EXPECT_TRUE(is_preempted || recomputed_tokens == 0);
  EXPECT_EQ(engine.cache.used(), 0);
}

TEST(SchedulerProperties, OneStepInFlight) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    run_random_traffic(seed, 1);
    if (HasFatalFailure()) return;
  }
}

TEST(SchedulerProperties, PipelinesOfSeveralSteps) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    run_random_traffic(seed, 2 + seed % 4);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace foretoken
