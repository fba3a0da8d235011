// The scheduler "vtc": who is let in next, by hand, and against the paper's algorithm written down
// as plainly as possible.

#include <gmock/gmock.h>

#include <map>
#include <random>
#include <set>

#include "tests/unit/serving/engine_fixture.hpp"

namespace foretoken::vtc_test {
namespace {

using ::testing::ElementsAre;

Sequence request(int tenant, std::int64_t prompt, std::int64_t output, double weight = 1.0) {
  Sequence sequence;
  sequence.prompt_tokens = prompt;
  sequence.output_tokens = output;
  sequence.tenant = tenant;
  sequence.tenant_weight = weight;
  return sequence;
}

EngineFixture engine_of(int slots, const std::string& options = "") {
  return {1000, 16, {.batch_tokens_max = 2000, .sequences_max = slots}, options, "vtc"};
}

// Each request counts 10 + 2 x 1 = 12. After 0 tenant 0 has 12, tenant 1 nothing.
TEST(Vtc, TheTenantThatWasServedLeastGoesFirst) {
  EngineFixture engine = engine_of(1);
  for (const int tenant : {0, 0, 0, 1}) engine.submit(request(tenant, 10, 1));
  EXPECT_THAT(run_steps(engine, 4), ElementsAre("0:10", "3:10", "1:10", "2:10"));
}

// Tenant 0 has 24 and more waiting when tenant 1 comes, which is lifted to that: they take turns,
// and tenant 1 does not catch up.
TEST(Vtc, WhoWasIdleSavesNothingUp) {
  EngineFixture engine = engine_of(1);
  for (int i = 0; i < 4; ++i) engine.submit(request(0, 10, 1));
  EXPECT_THAT(run_steps(engine, 2), ElementsAre("0:10", "1:10"));
  for (int i = 0; i < 3; ++i) engine.submit(request(1, 10, 1));
  EXPECT_THAT(run_steps(engine, 5), ElementsAre("2:10", "4:10", "3:10", "5:10", "6:10"));
}

// Nothing waits any more when tenant 1 comes: it is lifted to tenant 0's 24, the last to leave.
TEST(Vtc, AnEmptyQueueLiftsToTheLastThatLeft) {
  EngineFixture engine = engine_of(1);
  for (int i = 0; i < 2; ++i) engine.submit(request(0, 10, 1));
  EXPECT_THAT(run_steps(engine, 2), ElementsAre("0:10", "1:10"));
  for (int i = 0; i < 2; ++i) engine.submit(request(1, 10, 1));
  for (int i = 0; i < 2; ++i) engine.submit(request(0, 10, 1));
  EXPECT_THAT(run_steps(engine, 4), ElementsAre("4:10", "2:10", "5:10", "3:10"));
}

TEST(Vtc, AWeightOfTwoIsServedTwiceAsMuch) {
  EngineFixture engine = engine_of(1);
  for (int i = 0; i < 3; ++i) engine.submit(request(0, 10, 1));
  for (int i = 0; i < 6; ++i) engine.submit(request(1, 10, 1, 2.0));
  EXPECT_THAT(run_steps(engine, 7),
              ElementsAre("0:10", "3:10", "4:10", "1:10", "5:10", "6:10", "2:10"));
}

// With prompts for nothing, what was drawn alone counts: after its four tokens tenant 0 waits for
// four requests of tenant 1.
TEST(Vtc, CountsWhatIsDrawnAndPromptsByTheirWeights) {
  EngineFixture engine = engine_of(1, "input_weight = 0.0");
  engine.submit(request(0, 10, 4));
  engine.submit(request(0, 10, 1));
  for (int i = 0; i < 5; ++i) engine.submit(request(1, 50, 1));
  EXPECT_THAT(run_steps(engine, 10), ElementsAre("0:10", "0:1", "0:1", "0:1", "2:50", "3:50",
                                                 "4:50", "5:50", "1:10", "6:50"));
}

TEST(Vtc, WhoGivesUpWaitingIsForgotten) {
  EngineFixture engine = engine_of(1);
  engine.submit(request(0, 10, 1));
  Sequence& gone = engine.submit(request(1, 10, 1));
  engine.submit(request(0, 10, 1));
  engine.give_up(gone);
  EXPECT_THAT(run_steps(engine, 3), ElementsAre("0:10", "2:10", ""));
}

TEST(Vtc, MistakesAreTold) {
  EXPECT_NE(options_error("vtc", "output_weight = -1.0").find("output_weight"), std::string::npos);
}

/// Algorithm 2 of the paper: lists that are walked from the beginning each time.
class PaperEngine {
 public:
  explicit PaperEngine(int slots) : slots_(slots) {}

  void arrive(int id, int tenant, std::int64_t prompt, std::int64_t output) {
    const std::set<int> there = waiting_tenants();
    if (!there.contains(tenant)) {
      double level = counters_[last_left_];
      if (!there.empty()) {
        level = counters_[*there.begin()];
        for (const int other : there) level = std::min(level, counters_[other]);
      }
      counters_[tenant] = std::max(counters_[tenant], level);
    }
    waiting_.push_back({id, tenant, prompt, output});
  }

  /// The requests that the next step lets in; then the step runs.
  std::vector<int> step() {
    std::vector<int> admitted;
    while (!waiting_.empty() && static_cast<int>(running_.size()) < slots_) {
      const std::set<int> there = waiting_tenants();
      int chosen = *there.begin();
      for (const int tenant : there) {
        if (counters_[tenant] < counters_[chosen]) chosen = tenant;
      }
      std::size_t first = 0;
      while (waiting_[first].tenant != chosen) ++first;
      const Job job = waiting_[first];
      waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(first));
      if (!waiting_tenants().contains(chosen)) last_left_ = chosen;
      charge(chosen, static_cast<double>(job.prompt));
      running_.push_back(job);
      admitted.push_back(job.id);
    }
    for (Job& job : running_) {
      charge(job.tenant, 2.0);
      --job.output;
    }
    std::erase_if(running_, [](const Job& job) { return job.output == 0; });
    return admitted;
  }

  [[nodiscard]] std::set<int> waiting_tenants() const {
    std::set<int> tenants;
    for (const Job& job : waiting_) tenants.insert(job.tenant);
    return tenants;
  }
  [[nodiscard]] double served(int tenant) { return served_[tenant]; }

 private:
  struct Job {
    int id, tenant;
    std::int64_t prompt, output;
  };
  void charge(int tenant, double tokens) {
    counters_[tenant] += tokens;
    served_[tenant] += tokens;
  }

  int slots_;
  std::vector<Job> waiting_, running_;
  std::map<int, double> counters_, served_;
  int last_left_ = 0;
};

std::vector<int> admitted_in(const Batch& batch) {
  std::vector<int> ids;
  for (const BatchEntry& entry : batch.entries) {
    const bool is_new = entry.sequence->produced == 0 && entry.sequence->steps_in_flight == 1;
    if (is_new) ids.push_back(static_cast<int>(entry.sequence->record.id.value));
  }
  return ids;
}

TEST(Vtc, LetsInWhomThePapersAlgorithmLetsIn) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const auto draw = [&](int most) { return static_cast<int>(random() % most); };
    const int slots = 1 + draw(4);
    EngineFixture engine = engine_of(slots);
    PaperEngine paper(slots);
    for (int step = 0; step < 60; ++step) {
      for (int coming = draw(3); coming > 0 && step < 40; --coming) {
        const int tenant = draw(3), prompt = 1 + draw(40), output = 1 + draw(6);
        const int id = static_cast<int>(engine.sequences.size());
        engine.submit(request(tenant, prompt, output));
        paper.arrive(id, tenant, prompt, output);
      }
      const Batch batch = engine.next();
      ASSERT_EQ(admitted_in(batch), paper.step()) << "seed " << seed << " step " << step;
      engine.complete(batch);
    }
  }
}

// Theorem 4.4 of the paper: two tenants that always have something waiting differ by no more than
// 2 max(a prompt, 2 x the tokens of a batch).
TEST(Vtc, TwoBusyTenantsNeverDifferByMoreThanABatch) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    const auto draw = [&](int most) { return static_cast<int>(random() % most); };
    EngineFixture engine = engine_of(4);
    for (int i = 0; i < 150; ++i) {
      engine.submit(request(0, 1 + draw(40), 1 + draw(20)));
      engine.submit(request(1, 1 + draw(10), 1 + draw(4)));
    }
    std::map<int, double> served;
    std::set<const Sequence*> begun;
    for (int step = 0; step < 100; ++step) {
      const Batch batch = engine.next();
      for (const BatchEntry& entry : batch.entries) {
        const Sequence& one = *entry.sequence;
        if (begun.insert(&one).second) served[one.tenant] += static_cast<double>(one.prompt_tokens);
        served[one.tenant] += 2;
      }
      engine.complete(batch);
      ASSERT_LE(std::abs(served[0] - served[1]), 2 * 2 * 4 * 60.0) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace foretoken::vtc_test
