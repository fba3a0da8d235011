// Laws that every scheduler must obey under any traffic: no request is lost or served twice in a
// step, tokens add up, blocks stay within the cache, limits hold, work never stalls while someone
// waits, whoever is given up is gone at once, and the same traffic gives the same steps.

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <set>

#include "sim/base/fingerprint.hpp"
#include "sim/base/random.hpp"
#include "tests/unit/serving/engine_fixture.hpp"

namespace foretoken {
namespace {

struct Engine {
  const char* name;
  const char* options = "";
  bool preempts = true;
};

// Every scheduler of the catalog, with the options that change its ways.
constexpr Engine engines[] = {
    {"vllm_v1"},
    {"vllm_v1", "prefill_chunk_max = 7"},
    {"vllm_v1", "chunked_prefill = false"},
    {"sarathi", "chunk_tokens = 16"},
    {"sglang", "chunk_tokens = 20"},
    {"sglang", "chunk_tokens = 0\norder = \"lpm\""},
    {"sglang", "chunk_tokens = 24\norder = \"lpm\"\nconservativeness = 0.1"},
    {"sglang", "chunk_tokens = 30\nmixed_chunk = true\nconservativeness = 0.1"},
    {"tensorrt_llm", "", false},
    {"tensorrt_llm", "chunked_prefill = true\noutput_limit = 40", false},
    {"tensorrt_llm", "capacity_policy = \"max_utilization\""},
    {"tensorrt_llm",
     "capacity_policy = \"max_utilization\"\nchunked_prefill = true\n"
     "chunking_policy = \"equal_progress\""},
    {"orca", "", false},
    {"orca", "output_limit = 30", false},
    {"static", "", false},
    {"shortest_job_first"},
    {"shortest_job_first", "length = \"prompt\"\npatience = \"2 s\""},
    {"priority"},
    {"priority", "preempts = false\nprefill_chunk_max = 9"},
    {"vtc"},
};

struct Traffic {
  std::uint64_t seed;
  std::size_t depth = 1;         // steps in flight
  bool shares_prefixes = false;  // prompts begin alike
  bool gives_up = false;         // some clients go away
  HostKv host = {};
};

class RandomRun {
 public:
  RandomRun(const Engine& engine, const Traffic& traffic)
      : traffic_(traffic),
        preempts_(engine.preempts),
        random_(RandomStreams(traffic.seed).stream("traffic")),
        blocks_(draw(12, 60)),
        limits_{.batch_tokens_max = draw(8, 200), .sequences_max = static_cast<int>(draw(1, 8))},
        engine_(blocks_, block_tokens, limits_, engine.options, engine.name,
                traffic.shares_prefixes, traffic.host) {}

  void run() {
    for (int round = 0; round < 100'000 && !is_over(); ++round) {
      SCOPED_TRACE(round);
      engine_.now += Seconds(0.1);
      if (submitted_ < requests && uniform(random_) < 0.4) submit();
      if (traffic_.gives_up && uniform(random_) < 0.05) give_one_up();
      if (flight_.size() < traffic_.depth) {
        ASSERT_NO_FATAL_FAILURE(step());
      }
      ASSERT_NO_FATAL_FAILURE(check_blocks());
      const bool may_wait = flight_.size() < traffic_.depth && uniform(random_) >= 0.5;
      if (!flight_.empty() && !may_wait) complete();
    }
    ASSERT_TRUE(is_over());
    check_end();
  }

  /// Blocks that all requests together can have.
  static constexpr std::int64_t room_for_all = 60 * 12;

  [[nodiscard]] std::uint64_t fingerprint() const { return steps_.value(); }
  [[nodiscard]] std::int64_t preemptions() const {
    std::int64_t sum = 0;
    for (const Sequence& sequence : engine_.sequences) sum += sequence.record.preemptions;
    return sum;
  }

 private:
  static constexpr int block_tokens = 8, requests = 60;
  // 96 tokens are 12 blocks: every request fits alone.
  static constexpr std::int64_t prompt_max = 60, tokens_max = 96;

  std::int64_t draw(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(uniform(random_) * static_cast<double>(high - low + 1));
  }

  void submit() {
    ++submitted_;
    Sequence sequence;
    sequence.prompt_tokens = draw(1, prompt_max);
    sequence.output_tokens = draw(1, tokens_max - sequence.prompt_tokens);
    sequence.priority = static_cast<int>(draw(0, 2));
    sequence.prefix_chunk_tokens = 2 * block_tokens;
    // Whole chunks of one of three beginnings, then the prompt's own.
    const std::int64_t family = draw(1, 3), alike = draw(0, 3);
    for (std::int64_t chunk = 0; chunk < sequence.prompt_tokens / (2 * block_tokens); ++chunk) {
      const std::int64_t origin = chunk < alike ? family : 100 + submitted_;
      sequence.prefix_hashes.push_back(static_cast<std::uint64_t>(origin * 1000 + chunk));
    }
    if (engine_.scheduler->can_serve(sequence)) {
      engine_.submit(sequence);
    } else {
      ASSERT_GT(sequence.prompt_tokens, limits_.batch_tokens_max);
    }
  }

  void give_one_up() {
    if (engine_.sequences.empty()) return;
    const auto last = static_cast<std::int64_t>(engine_.sequences.size()) - 1;
    Sequence& sequence = engine_.sequences[static_cast<std::size_t>(draw(0, last))];
    if (sequence.is_done() || engine_.is_given_up(sequence)) return;
    engine_.give_up(sequence);
    ASSERT_EQ(sequence.blocks, 0);
  }

  void step() {
    Batch batch = engine_.next();
    std::int64_t tokens = 0;
    std::set<const Sequence*> seen;
    for (const BatchEntry& entry : batch.entries) {
      ASSERT_TRUE(seen.insert(entry.sequence).second) << "twice in a step";
      ASSERT_FALSE(engine_.is_given_up(*entry.sequence));
      ASSERT_FALSE(entry.sequence->is_done());
      ASSERT_GE(entry.new_tokens, 1);
      ASSERT_EQ(entry.samples, entry.context_tokens == entry.sequence->known_tokens());
      ASSERT_GE(entry.sequence->blocks * block_tokens, entry.context_tokens);
      tokens += entry.new_tokens;
      steps_.add(std::uint64_t{entry.sequence->record.id.value});
      steps_.add(static_cast<std::uint64_t>(entry.new_tokens));
    }
    steps_.add(static_cast<std::uint64_t>(tokens));
    ASSERT_EQ(tokens, batch.shape.tokens);
    ASSERT_LE(tokens, limits_.batch_tokens_max);
    ASSERT_LE(engine_.scheduler->running(), limits_.sequences_max);
    ASSERT_EQ(batch.shape.attention.query_tokens(), tokens);
    if (flight_.empty() && is_work_left()) {
      ASSERT_FALSE(batch.empty()) << "stalled";
    }
    computed_tokens_ += tokens;
    if (!batch.empty()) flight_.push_back(std::move(batch));
  }

  void check_blocks() {
    ASSERT_GE(engine_.cache.free(), 0);
    ASSERT_LE(engine_.cache.used(), blocks_);
    ASSERT_LE(engine_.cache.host().used(), traffic_.host.blocks);
    std::int64_t swapped = 0;
    for (const Sequence& sequence : engine_.sequences) swapped += sequence.swapped_blocks;
    ASSERT_EQ(engine_.cache.host().swapped(), swapped);
    std::int64_t held = 0;
    for (const Sequence& sequence : engine_.sequences) held += sequence.blocks;
    ASSERT_GE(held, engine_.cache.used());
    if (!traffic_.shares_prefixes) {
      ASSERT_EQ(held, engine_.cache.used());
    }
  }

  void complete() {
    engine_.complete(flight_.front());
    flight_.pop_front();
  }

  [[nodiscard]] bool is_work_left() const {
    return engine_.scheduler->waiting() + engine_.scheduler->running() > 0;
  }
  [[nodiscard]] bool is_over() const {
    return submitted_ == requests && flight_.empty() && !is_work_left();
  }

  void check_end() {
    std::int64_t needed = 0;
    for (const Sequence& sequence : engine_.sequences) {
      EXPECT_EQ(sequence.steps_in_flight, 0);
      EXPECT_EQ(sequence.blocks, 0);
      if (engine_.is_given_up(sequence)) continue;
      EXPECT_EQ(sequence.produced, sequence.output_tokens);
      needed += sequence.prompt_tokens + sequence.output_tokens - 1;
    }
    EXPECT_EQ(engine_.cache.used(), 0);
    EXPECT_EQ(engine_.cache.host().swapped(), 0);
    EXPECT_TRUE(preempts_ || preemptions() == 0);
    if (traffic_.shares_prefixes || traffic_.gives_up) return;
    // Every prompt token and every output token but each request's last one is computed once, and
    // more only where something was preempted.
    EXPECT_GE(computed_tokens_, needed);
    // With room on the host for all that can wait, what was swapped out is fetched.
    const HostTotals host = engine_.cache.host_totals();
    const bool has_room = traffic_.host.swaps && traffic_.host.blocks >= room_for_all;
    EXPECT_TRUE((preemptions() > 0 && !has_room) || computed_tokens_ == needed);
    if (!has_room) return;
    EXPECT_EQ(host.swapped, preemptions());
    EXPECT_EQ(host.copies.to_host, host.copies.from_host);
  }

  Traffic traffic_;
  bool preempts_;
  RandomStream random_;
  std::int64_t blocks_;
  SchedulerLimits limits_;
  EngineFixture engine_;
  std::deque<Batch> flight_;
  std::int64_t submitted_ = 0, computed_tokens_ = 0;
  Fingerprint steps_;
};

class SchedulerProperties : public testing::TestWithParam<Engine> {
 protected:
  void run_all(const std::function<Traffic(std::uint64_t)>& traffic) {
    std::int64_t preemptions = 0;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
      SCOPED_TRACE(seed);
      RandomRun run(GetParam(), traffic(seed));
      run.run();
      if (HasFailure()) return;
      preemptions += run.preemptions();
    }
    EXPECT_EQ(preemptions > 0, GetParam().preempts) << "the pools were meant to be too small";
  }
};

TEST_P(SchedulerProperties, OneStepInFlight) {
  run_all([](std::uint64_t seed) { return Traffic{seed}; });
}

TEST_P(SchedulerProperties, PipelinesOfSeveralSteps) {
  run_all([](std::uint64_t seed) { return Traffic{seed, 2 + seed % 4}; });
}

TEST_P(SchedulerProperties, PromptsThatBeginAlike) {
  run_all([](std::uint64_t seed) { return Traffic{seed, 1 + seed % 3, true}; });
}

TEST_P(SchedulerProperties, ClientsThatGoAway) {
  run_all([](std::uint64_t seed) { return Traffic{seed, 1 + seed % 4, seed % 2 == 0, true}; });
}

TEST_P(SchedulerProperties, SwappingWithRoomForAll) {
  run_all([](std::uint64_t seed) {
    return Traffic{.seed = seed,
                   .depth = 1 + seed % 3,
                   .host = {.blocks = RandomRun::room_for_all, .swaps = true}};
  });
}

TEST_P(SchedulerProperties, SwappingWithRoomForFewAndPromptsThatBeginAlike) {
  run_all([](std::uint64_t seed) {
    return Traffic{.seed = seed,
                   .depth = 1 + seed % 3,
                   .shares_prefixes = seed % 2 == 0,
                   .gives_up = seed % 3 == 0,
                   .host = {.blocks = static_cast<std::int64_t>(seed), .swaps = true}};
  });
}

TEST_P(SchedulerProperties, TheSameTrafficGivesTheSameSteps) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const Traffic traffic{seed, 1 + seed % 3, true, true};
    RandomRun first(GetParam(), traffic), second(GetParam(), traffic);
    first.run();
    second.run();
    EXPECT_EQ(first.fingerprint(), second.fingerprint());
  }
}

std::string test_name(const testing::TestParamInfo<Engine>& info) {
  return std::string(info.param.name) + "_" + std::to_string(info.index);
}
INSTANTIATE_TEST_SUITE_P(All, SchedulerProperties, testing::ValuesIn(engines), test_name);

TEST(SchedulerPropertiesCover, EverySchedulerOfTheCatalog) {
  const Registry<SchedulerFactory> catalog = scheduler_catalog();
  for (const auto& entry : catalog.entries()) {
    EXPECT_TRUE(std::ranges::any_of(engines, [&](const Engine& e) { return entry.name == e.name; }))
        << entry.name;
  }
}

}  // namespace
}  // namespace foretoken
