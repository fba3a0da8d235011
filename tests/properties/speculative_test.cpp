// Laws of speculative decoding in whole runs: what is accepted changes when tokens come and never
// how many, nothing is lost however often sequences are preempted, and no drafts is no speculation.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>

#include "sim/base/json.hpp"
#include "sim/prices/step_price.hpp"
#include "sim/serving/scheduler.hpp"
#include "tests/properties/forked_run.hpp"

namespace foretoken::speculative_test {
namespace {

const std::string lone = std::string(lone_request) + "[predictor]\nname = \"roofline\"\n";

std::vector<std::string> speculative(const std::string& method, int drafts,
                                     const std::string& acceptance) {
  return {"engine.speculative.method=" + method,
          "engine.speculative.drafts=" + std::to_string(drafts),
          "engine.speculative.acceptance=" + acceptance};
}

Report run(const std::string& text, std::vector<std::string> overrides,
           const std::vector<std::string>& more = {}, StepObserver* observer = nullptr) {
  overrides.insert(overrides.end(), more.begin(), more.end());
  RunOptions options;
  options.observer = observer;
  return run_scenario(scenario_from(text, overrides), Catalogs(), options);
}

// A prompt gives the first token; then every step 4, until 21 are there: 5 steps.
TEST(SpeculativeProperties, AllAcceptedGivesAllDraftsAndOne) {
  const Report report = run(lone, speculative("eagle", 3, "1.0"));
  EXPECT_EQ(report.iterations, 1 + 5);
  EXPECT_EQ(report.rows.front().output_tokens, 21);
  EXPECT_DOUBLE_EQ(report.speculation->acceptance_length, 4);
  EXPECT_THAT(report.speculation->accepted_by_position, testing::Each(1.0));
  EXPECT_EQ(report.rows.front().drafted, 15);
  EXPECT_EQ(report.rows.front().accepted, 15);
}

TEST(SpeculativeProperties, NoneAcceptedGivesOneTokenAStep) {
  const Report report = run(lone, speculative("eagle", 3, "0.0"));
  EXPECT_EQ(report.iterations, 21);
  EXPECT_DOUBLE_EQ(report.speculation->acceptance_length, 1);
  EXPECT_EQ(report.rows.front().accepted, 0);
}

// The last step's drafts go beyond what the request wants: 1 + 7 + 7 + 6 of 7.
TEST(SpeculativeProperties, OutputEndsWhereTheRequestSays) {
  const Report report = run(lone, speculative("eagle", 6, "1.0"));
  EXPECT_EQ(report.iterations, 1 + 3);
  EXPECT_EQ(report.rows.front().output_tokens, 21);
}

/// End to end, in a child: a process simulates once.
double time_of(std::vector<std::string> keys, const std::string& by_batch) {
  if (!by_batch.empty()) keys.push_back("engine.speculative.drafts_by_batch=" + by_batch);
  const auto time = in_child([&] { return run(lone, keys).e2e_ms.mean; });
  return time.value_or(-1);
}

// From one sequence on two drafts: as if two were all that is ever drafted.
TEST(SpeculativeProperties, FewerDraftsByBatchAreFewerDrafts) {
  const std::vector<std::string> four = speculative("eagle", 4, "[0.8, 0.7, 0.6, 0.5]");
  const double two = time_of(speculative("eagle", 2, "[0.8, 0.7]"), "");
  EXPECT_GT(two, 0);
  EXPECT_EQ(time_of(four, "[[1, 2]]"), two);
  EXPECT_NE(time_of(four, ""), two);
  EXPECT_EQ(time_of(four, "[[2, 1]]"), time_of(four, "")) << "there is one sequence";
}

TEST(SpeculativeProperties, NoDraftsFromABatchOnAreNone) {
  std::vector<std::string> none = speculative("eagle", 4, "0.8");
  const double without = time_of({}, "");
  EXPECT_EQ(time_of(none, "[[1, 0]]"), without);
  none.emplace_back("engine.speculative.drafts_by_batch=[[1, 0]]");
  const Report report = run(lone, none);
  EXPECT_EQ(report.rows.front().drafted, 0);
  EXPECT_EQ(report.speculation->draft_share, 0);
}

// Each step is the target's verification and the head's passes behind it; the first draws a token
// and drafts too.
TEST(SpeculativeProperties, ALoneRequestTakesTheSumOfItsStepsAndDrafts) {
  const std::vector<std::string> keys = speculative("eagle", 3, "1.0");
  const Scenario scenario = scenario_from(lone, keys);
  const Report report = run(lone, keys);
  const auto predictor = make_predictor(Catalogs().predictors, "roofline", {});
  const auto step = [&](std::int64_t tokens, std::int64_t context) {
    BatchShape batch;
    batch.tokens = tokens;
    batch.logit_rows = tokens == 700 ? 1 : tokens;
    batch.draft_rows = batch.logit_rows - 1;
    batch.verifying = batch.draft_rows > 0 ? 1 : 0;
    batch.attention = AttentionLoad::exact({{tokens, context}}, 4);
    const CommSettings comm{scenario.cluster.comm, scenario.deployment.all_reduce};
    StepCost cost = price_step(scenario.model, {}, scenario.execution, scenario.cluster, comm,
                               *predictor, batch);
    cost.drafts = price_drafts(*scenario.engine.speculative, {}, scenario.execution,
                               scenario.cluster, comm, *predictor, batch);
    return cost.compute().value();
  };
  const double prefill = step(700, 700);
  double decode = 0;
  for (std::int64_t known = 701; known < 721; known += 4) decode += step(4, known + 3);
  EXPECT_NEAR(report.ttft_ms.mean, prefill * 1e3, 1e-9 * prefill * 1e3);
  EXPECT_NEAR(report.e2e_ms.mean, (prefill + decode) * 1e3, 1e-9 * (prefill + decode) * 1e3);
  // Twenty tokens after the first, in five arrivals.
  EXPECT_NEAR(report.tpot_ms.mean, decode / 20 * 1e3, 1e-9 * decode * 1e3);
  EXPECT_NEAR(report.itl_ms.mean, decode / 5 * 1e3, 1e-9 * decode * 1e3);
}

const std::string crowd = std::string(busy_pipelines) + "[predictor]\nname = \"roofline\"\n";

/// Sums over the last stage's steps.
class DraftCounter final : public StepObserver {
 public:
  explicit DraftCounter(int last_stage) : last_stage_(last_stage) {}
  void on_step(ReplicaId, int stage, Seconds, Seconds duration, const Batch& batch) override {
    if (stage != last_stage_) {
      EXPECT_EQ(batch.draft_time.value(), 0) << "drafts on stage " << stage;
      return;
    }
    EXPECT_LE(batch.draft_time, duration);
    for (const BatchEntry& entry : batch.entries) {
      EXPECT_LE(entry.drafts, 3);
      EXPECT_TRUE(entry.samples || entry.drafts == 0);
      drafted += entry.drafts;
    }
  }
  std::int64_t drafted = 0;

 private:
  int last_stage_;
};

TEST(SpeculativeProperties, NothingIsLostWhenPipelinesPreempt) {
  DraftCounter counter(1);
  const Report report = run(crowd, speculative("eagle", 3, "[0.8, 0.7, 0.6]"), {}, &counter);
  EXPECT_EQ(report.requests.completed, 400);
  EXPECT_EQ(report.rows.size(), 400U);
  EXPECT_GT(report.kv.preemptions, 0) << "the cache was meant to be too small";
  EXPECT_LE(report.kv.peak, 1.0);
  std::int64_t drafted = 0, accepted = 0;
  for (const RequestRow& row : report.rows) {
    EXPECT_LE(row.accepted, row.drafted);
    drafted += row.drafted;
    accepted += row.accepted;
  }
  EXPECT_EQ(drafted, counter.drafted);
  const Report::Speculation& speculation = *report.speculation;
  EXPECT_NEAR(speculation.acceptance_length,
              1 + static_cast<double>(accepted) / static_cast<double>(speculation.verifications),
              1e-12);
}

// 1 + 0.8 + 0.56 + 0.336 = 2.696 tokens a verification; ten thousand of them, whose number of
// tokens has a standard deviation of 1.2, put the mean within 0.06 at five standard errors.
TEST(SpeculativeProperties, TokensAStepFollowTheFormula) {
  const Report report =
      run(crowd, speculative("ngram", 3, "[0.8, 0.7, 0.6]"), {"engine.kv_blocks=0"});
  ASSERT_GT(report.speculation->verifications, 9'000);
  EXPECT_NEAR(report.speculation->acceptance_length, 2.696, 0.06);
}

TEST(SpeculativeProperties, NeverChangesTheNumberOfOutputTokens) {
  const auto outputs = [](const std::vector<std::string>& keys) {
    return in_child([&] {
      double sum = 0;
      for (const RequestRow& row : run(crowd, keys).rows) {
        sum += static_cast<double>(row.output_tokens) * (1 + row.id % 97);
      }
      return sum;
    });
  };
  const auto plain = outputs({});
  ASSERT_TRUE(plain.has_value());
  for (const char* acceptance : {"0.0", "0.5", "1.0"}) {
    EXPECT_EQ(outputs(speculative("eagle", 4, acceptance)), plain) << acceptance;
    EXPECT_EQ(outputs(speculative("ngram", 7, acceptance)), plain) << acceptance;
  }
}

double fingerprint(const Report& report) {
  const std::string text = to_json(report_value(report)) + requests_csv(report);
  return static_cast<double>(Fingerprint().add(text).value() >> 12);
}

TEST(SpeculativeProperties, NoDraftsIsNoSpeculationToTheBit) {
  for (const char* detail : {"sums", "plan"}) {
    const std::string attention = std::string("predictor.detail=") + detail;
    const auto of = [&](const std::vector<std::string>& keys) {
      return in_child([&] { return fingerprint(run(crowd, keys, {attention})); });
    };
    const auto off = of({});
    ASSERT_TRUE(off.has_value());
    for (const char* method : {"eagle", "ngram"}) {
      EXPECT_EQ(of(speculative(method, 0, "0.7")), off) << method << " " << detail;
    }
    EXPECT_NE(of(speculative("ngram", 1, "0.7")), off) << "the fingerprint sees nothing";
  }
}

TEST(SpeculativeProperties, RunsAgainToTheBit) {
  const auto once = [] {
    return in_child([] { return fingerprint(run(crowd, speculative("eagle", 3, "0.7"))); });
  };
  const auto first = once();
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(once(), first);
}

constexpr const char* experts = R"(
[model]
name = "deepseek-v3"
[cluster]
name = "h200-sxm-8x2"
[deployment]
data_parallel_attention = 16
expert_parallel = 16
[engine]
sequences_max = 32
[workload]
arrivals = "poisson"
rate = "20 /s"
requests = 120
prompt_tokens = 300
output_tokens = 40
[predictor]
name = "roofline"
)";

TEST(SpeculativeProperties, AttentionRanksDraftTogether) {
  for (const char* overlap : {"none", "two_batch"}) {
    const auto tpot = [&](const std::vector<std::string>& keys) {
      return in_child([&] {
        const Report report = run(experts, keys, {std::string("engine.overlap=") + overlap});
        FORETOKEN_CHECK(report.requests.completed == 120, "{} completed",
                        report.requests.completed);
        return report.tpot_ms.mean;
      });
    };
    const auto plain = tpot({}), mtp = tpot(speculative("mtp", 1, "0.85")),
               rejected = tpot(speculative("mtp", 1, "0.0"));
    ASSERT_TRUE(plain && mtp && rejected) << overlap;
    EXPECT_LT(*mtp, *plain) << overlap;
    EXPECT_GT(*rejected, *plain) << overlap;
  }
}

TEST(SpeculativeProperties, PlansAndSumsOfAttentionAgree) {
  const auto end_to_end = [](const char* detail) {
    return in_child([&] {
      return run(lone, speculative("eagle", 3, "0.7"),
                 {"workload.requests=20", "predictor.name=synperf",
                  std::string("predictor.detail=") + detail})
          .e2e_ms.mean;
    });
  };
  const auto plan = end_to_end("plan"), sums = end_to_end("sums");
  ASSERT_TRUE(plan && sums);
  EXPECT_NEAR(*sums / *plan, 1, 0.02);
}

TEST(SpeculativeProperties, SharedPrefixesStayShared) {
  constexpr const char* shared = R"(
[model]
name = "llama-3.1-8b"
[cluster]
name = "h200-sxm-1"
[workload]
trace = "examples/traces/mooncake.jsonl"
[predictor]
name = "roofline"
)";
  const auto hit_rate = [](const std::vector<std::string>& keys) {
    return in_child([&] {
      Value root = parse_toml(shared, "scenario.toml");
      apply_changes(root, parse_changes(keys));
      const Report report = run_scenario(read_scenario(root, {FORETOKEN_SOURCE_DIR}), Catalogs());
      FORETOKEN_CHECK(report.requests.failed == 0, "{} failed", report.requests.failed);
      return *report.kv.prefix_hit_rate;
    });
  };
  const auto plain = hit_rate({}), drafted = hit_rate(speculative("eagle", 3, "0.7"));
  ASSERT_TRUE(plain && drafted);
  EXPECT_GT(*plain, 0);
  EXPECT_NEAR(*drafted, *plain, 0.02);
}

constexpr const char* users = R"(
[model]
name = "llama-3.1-70b"
[cluster]
name = "h200-sxm-4"
[deployment]
tensor_parallel = 4
[engine]
sequences_max = 512
[workload]
arrivals = "closed_loop"
users = 1
requests = 3
prompt_tokens = 500
output_tokens = 300
)";

// Drafts cost little while the GPU waits for weights, and as much as any token once it computes:
// Llama 3.1 70B with EAGLE-3 on four H200, three drafts of which 60 % are accepted in turn (2.18
// tokens a step).
TEST(SpeculativeProperties, SpeculationPaysForFewUsersAndNotForMany) {
  const auto gain = [](int count) {
    const auto tokens = [&](const std::vector<std::string>& keys) {
      return in_child([&] {
        return run(users, keys,
                   {fmt::format("workload.users={}", count),
                    fmt::format("workload.requests={}", 3 * count)})
            .throughput.output_tokens_per_s;
      });
    };
    const auto plain = tokens({}), drafted = tokens(speculative("eagle", 3, "0.6"));
    FORETOKEN_CHECK(plain && drafted, "no result for {} users", count);
    return *drafted / *plain;
  };
  const double one = gain(1), sixteen = gain(16), many = gain(256);
  RecordProperty("gain_1", std::to_string(one));
  RecordProperty("gain_16", std::to_string(sixteen));
  RecordProperty("gain_256", std::to_string(many));
  EXPECT_GT(one, 1.5);
  EXPECT_LT(one, 2.18) << "more than the tokens a step";
  EXPECT_GT(sixteen, 1.2);
  EXPECT_LT(sixteen, one);
  EXPECT_LT(many, 1.0);
}

/// Random traffic with drafts through a scheduler, without a clock.
/// Adds the drafts that were verified to `verified`.
void run_random_traffic(const std::string& scheduler_name, std::uint64_t seed, std::size_t depth,
                        std::int64_t& verified) {
  RandomStream random = RandomStreams(seed).stream("traffic");
  const auto draw = [&](std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(uniform(random) * static_cast<double>(high - low + 1));
  };
  constexpr int drafts = 3;
  constexpr std::int64_t block_tokens = 8, requests = 40;
  const SchedulerLimits limits{.batch_tokens_max = draw(32, 200),
                               .sequences_max = static_cast<int>(draw(1, 8))};
  KvCache cache(draw(14, 60), block_tokens);
  Diagnostics diagnostics;
  const Value no_options;
  TableReader options(no_options, diagnostics, "engine");
  const auto scheduler = scheduler_catalog().find(scheduler_name, {}).make(options, limits, cache);
  AcceptanceSampler acceptance({0.7, 0.6, 0.5}, RandomStreams(seed), ReplicaId{0});
  std::deque<Sequence> sequences;
  std::deque<Batch> flight;
  std::int64_t ended = 0;
  for (int round = 0; round < 100'000 && ended < requests; ++round) {
    if (std::ssize(sequences) < requests && uniform(random) < 0.4) {
      Sequence& sequence = sequences.emplace_back();
      sequence.prompt_tokens = draw(1, 60);
      // 112 tokens in 14 blocks: fits alone with the room for drafts.
      sequence.output_tokens = draw(1, 96 - sequence.prompt_tokens);
      sequence.draft_room = 2 * drafts;
      if (!scheduler->can_serve(sequence)) {
        ++ended;
        continue;
      }
      scheduler->enqueue(sequence);
    }
    if (flight.size() < depth) {
      Batch batch;
      batch.drafts_max = drafts;
      scheduler->next_batch(Seconds(0.0), batch);
      ASSERT_LE(batch.shape.tokens, limits.batch_tokens_max);
      for (const BatchEntry& entry : batch.entries) {
        ASSERT_GE(entry.new_tokens, 1);
        ASSERT_LE(entry.drafts, drafts);
        const std::int64_t known = entry.sequence->known_tokens();
        ASSERT_EQ(entry.samples, entry.context_tokens >= known);
        ASSERT_EQ(entry.drafts, std::max<std::int64_t>(entry.context_tokens - known, 0));
        const std::int64_t room = entry.samples ? known + 2 * drafts : entry.context_tokens;
        ASSERT_GE(entry.sequence->blocks * block_tokens, room);
      }
      if (flight.empty() && scheduler->waiting() + scheduler->running() > 0) {
        ASSERT_FALSE(batch.empty()) << "stalled in round " << round;
      }
      if (!batch.empty()) flight.push_back(std::move(batch));
    }
    if (flight.empty() || (flight.size() < depth && uniform(random) < 0.5)) continue;
    const Batch done = std::move(flight.front());
    flight.pop_front();
    for (const BatchEntry& entry : done.entries) {
      Sequence& sequence = *entry.sequence;
      --sequence.steps_in_flight;
      if (!entry.samples) continue;
      const std::int64_t accepted = entry.drafts > 0 ? acceptance.draw(entry.drafts) : 0;
      sequence.computed -= entry.drafts - accepted;
      sequence.drafts = drafts;
      sequence.produced = std::min(sequence.produced + accepted + 1, sequence.output_tokens);
    }
    for (const BatchEntry& entry : done.entries) {
      if (!entry.samples || !entry.sequence->is_done()) continue;
      scheduler->remove(*entry.sequence);
      ++ended;
    }
  }
  EXPECT_EQ(ended, requests) << scheduler_name;
  EXPECT_EQ(cache.used(), 0) << scheduler_name << ": blocks that nobody gave back";
  EXPECT_EQ(scheduler->running() + scheduler->waiting(), 0);
  for (const std::int64_t count : acceptance.totals().drafted) verified += count;
}

TEST(SpeculativeProperties, EverySchedulerServesDrafts) {
  const auto catalog = scheduler_catalog();
  for (const auto& entry : catalog.entries()) {
    std::int64_t verified = 0;
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
      for (const std::size_t depth : {1, 3}) {
        ASSERT_NO_FATAL_FAILURE(run_random_traffic(entry.name, seed, depth, verified))
            << entry.name << ", seed " << seed;
      }
    }
    // 60 runs of 40 requests of about 20 tokens, two to three verifications each four of them.
    EXPECT_GT(verified, 10'000) << entry.name;
  }
}

}  // namespace
}  // namespace foretoken::speculative_test
