// The loop, its evaluators and its log: the same seed gives the same bytes, and a run that was
// killed evaluates nothing twice.
#include "calibration/tune/search.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "calibration/tune/comparison.hpp"
#include "calibration/tune/evaluation_log.hpp"
#include "calibration/tune/open_regret.hpp"
#include "tests/own_folder.hpp"
#include "tests/unit/tune/suite_problem.hpp"

namespace foretoken::tune {
namespace {

using testing::HasSubstr;

Trajectory run(const Problem& problem, Evaluator& evaluator, const std::string& policy,
               std::uint64_t seed, int budget) {
  Judge judge(problem, evaluator);
  const auto player = make_policy(policy_catalog(), policy, {}, {seed, budget, {}});
  const auto rewriter = make_template_rewriter(
      problem, {true, seed, [&](const State& s) { return evaluator.knows(problem, s); }});
  Trajectory trajectory = search(judge, *rewriter, *player, budget, RewardRule::clipped);
  trajectory.policy = policy;
  trajectory.seed = seed;
  return trajectory;
}

/// Counts what it is asked, and stops a search as a kill would after `limit` evaluations.
class CountingEvaluator final : public Evaluator {
 public:
  CountingEvaluator(std::unique_ptr<Evaluator> inner, std::map<std::string, int>& asked, int limit)
      : inner_(std::move(inner)), asked_(&asked), limit_(limit) {}
  Evaluation evaluate(const Problem& problem, const Candidate& candidate) override {
    if (limit_-- <= 0) throw std::runtime_error("killed");
    ++(*asked_)[text_of(problem, candidate.state)];
    return inner_->evaluate(problem, candidate);
  }
  [[nodiscard]] const GpuSpec& gpu() const override { return inner_->gpu(); }

 private:
  std::unique_ptr<Evaluator> inner_;
  std::map<std::string, int>* asked_;
  int limit_;
};

class File {
 public:
  explicit File(const std::string& name) : path_((own_folder() / name).string()) {
    std::filesystem::remove(path_);
  }
  ~File() { std::filesystem::remove(path_); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(Search, GivesTheSameBytesForTheSameSeed) {
  const Problem problem = suite_problem("softmax");
  for (const char* policy : {"kernelband", "kernelband_v2", "beam"}) {
    const auto one = make_simulated(h200(), {}), other = make_simulated(h200(), {});
    const std::string text = to_text(run(problem, *one, policy, 3, 25));
    EXPECT_EQ(text, to_text(run(problem, *other, policy, 3, 25))) << policy;
    EXPECT_NE(text, to_text(run(problem, *one, policy, 4, 25))) << policy;
  }
}

TEST(Search, KeepsTheBestAndTheValid) {
  const Problem problem = suite_problem("softmax");
  const auto evaluator = make_simulated(h200(), {});
  const Trajectory trajectory = run(problem, *evaluator, "random", 1, 60);
  double best = 1;
  std::size_t valid = 1;
  std::set<std::string> children;
  for (const Step& step : trajectory.steps) {
    EXPECT_GE(step.best, best);
    EXPECT_GE(step.reward, 0);
    EXPECT_LE(step.reward, 1);
    EXPECT_TRUE(children.insert(step.child).second) << step.child << " twice";
    best = step.best;
    valid += step.status == Status::ok ? 1 : 0;
  }
  EXPECT_EQ(trajectory.pool.size(), valid) << "what failed is not in the pool";
  EXPECT_GT(best, 1.2);
  for (const PoolEntry& entry : trajectory.pool) EXPECT_GE(entry.time, 1 / best - 1e-12);
}

TEST(Search, EndsWhereNothingIsLeft) {
  const Problem problem = suite_problem("cumulative_sum");
  const auto evaluator = make_simulated(h200(), {});
  const Trajectory trajectory = run(problem, *evaluator, "random", 1, 1000);
  Judge judge(problem, *evaluator);
  // Every point but the start, once; failed points have no children, so some may stay unseen.
  EXPECT_LT(trajectory.steps.size(), all_states(problem).size());
  EXPECT_NEAR(trajectory.best(), judge.best_speedup(), 1e-9);
}

TEST(OpenRegret, ComparesWithWhatIsLeft) {
  const Problem problem = suite_problem("cumulative_sum");
  const auto evaluator = make_simulated(h200(), {.noise = 0});
  const Trajectory trajectory = run(problem, *evaluator, "random", 1, 1000);
  Judge judge(problem, *evaluator);
  const std::vector<double> means = open_means(judge, trajectory, RewardRule::clipped);
  ASSERT_EQ(means.size(), trajectory.steps.size());
  // The first round's by hand: the untouched kernel's moves, none of them seen.
  double first = 0;
  for (int s = 0; s < strategy_count; ++s) {
    const auto around = moves(problem, start_state(problem), static_cast<Strategy>(s));
    double sum = 0;
    for (const State& state : around) {
      const Judged& child = judge.judge(candidate_at(problem, state));
      sum += reward_of(1, child.evaluation, child.time, RewardRule::clipped);
    }
    if (!around.empty()) first = std::max(first, sum / static_cast<double>(around.size()));
  }
  EXPECT_DOUBLE_EQ(means.front(), first);
  // The last arm that is left has one move into what nobody saw: what it earns is what was left.
  EXPECT_NEAR(means.back(), trajectory.steps.back().reward, 1e-9);
}

TEST(Judge, KnowsTheBestArmOfASmallSpace) {
  const Problem problem = suite_problem("rope");
  const auto evaluator = make_simulated(h200(), {.noise = 0});
  Judge judge(problem, *evaluator);
  const double best = judge.best_mean_reward(RewardRule::clipped);
  EXPECT_GT(best, 0);
  EXPECT_LE(best, 1);
  // Fusing the untouched kernel's two launches is one of the arms that bound it from below.
  const State start = start_state(problem);
  const auto fused = moves(problem, start, Strategy::fusion);
  ASSERT_EQ(fused.size(), 1U);
  const Judged& child = judge.judge(candidate_at(problem, fused[0]));
  EXPECT_GE(best, reward_of(1, child.evaluation, child.time, RewardRule::clipped));
}

TEST(Simulated, RefusesWhatDoesNotFit) {
  const Problem problem = suite_problem("softmax");
  const auto evaluator = make_simulated(h200(), {});
  State state = start_state(problem);
  state[0] = 4;  // 512 threads
  state[1] = 1;  // 4 groups
  EXPECT_EQ(evaluator->evaluate(problem, candidate_at(problem, state)).status,
            Status::launch_failure);
}

TEST(EvaluationLog, ReadsBackWhatItWrote) {
  LogEntry entry{"softmax", "VEC=2", "0123456789abcdef", {}};
  entry.evaluation.status = Status::ok;
  entry.evaluation.seconds = {1.2345e-6, 0.5};
  entry.evaluation.kernels = {{32, 1024, 8, 128, 16, 4096}};
  entry.evaluation.compile_seconds = 0.25;
  const std::string line = to_line(entry);
  EXPECT_EQ(line, "softmax,VEC=2,0123456789abcdef,ok,250,32:1024:8:128:16:4096,1.2345 5e+05,");
  EXPECT_EQ(to_line(from_line(line, {})), line);
  EXPECT_DOUBLE_EQ(from_line(line, {}).evaluation.seconds.at(0), 1.2345e-6);
  EXPECT_DOUBLE_EQ(from_line(line, {}).evaluation.seconds.at(1), 0.5);
}

TEST(EvaluationLog, SaysWhichLineIsWrong) {
  const File file("bad_log.csv");
  std::ofstream(file.path()) << "# gpu=none\nsoftmax,VEC=2,01,ok,250,15:0:0:128:16:64,1.5,\n"
                                "softmax,VEC=2,01,fine,250,15:0:0:128:16:64,1.5,\n";
  try {
    EvaluationLog::load(file.path());
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("bad_log.csv:3: unknown status 'fine'"));
  }
}

TEST(Cache, ResumesAKilledRunWithoutEvaluatingTwice) {
  const Problem problem = suite_problem("softmax");
  const File file("cache.csv"), whole("whole.csv");
  const auto plain = make_cached(make_simulated(h200(), {}), whole.path());
  const std::string expected = to_text(run(problem, *plain, "kernelband", 5, 30));
  std::map<std::string, int> asked;
  for (const int limit : {7, 9, 1000}) {
    const auto evaluator = make_cached(
        std::make_unique<CountingEvaluator>(make_simulated(h200(), {}), asked, limit), file.path());
    if (limit < 1000) {
      EXPECT_THROW(run(problem, *evaluator, "kernelband", 5, 30), std::runtime_error);
      // Killed in the middle of a line.
      std::ofstream(file.path(), std::ios::app) << "softmax,THREADS=64 GRO";
    } else {
      EXPECT_EQ(to_text(run(problem, *evaluator, "kernelband", 5, 30)), expected);
    }
  }
  EXPECT_EQ(asked.size(), 31U);
  for (const auto& [state, times] : asked) EXPECT_EQ(times, 1) << state;
}

TEST(Replay, JudgesAsTheRecordingDid) {
  const Problem problem = suite_problem("rope");
  const File file("recording.csv");
  {
    const auto recorder = make_cached(make_simulated(h200(), {}), file.path());
    for (const State& state : all_states(problem)) {
      recorder->evaluate(problem, candidate_at(problem, state));
    }
  }
  const auto replay = make_replay(file.path(), h200());
  const auto cached = make_cached(make_simulated(h200(), {}), file.path());
  EXPECT_EQ(to_text(run(problem, *replay, "kernelband_v2", 2, 30)),
            to_text(run(problem, *cached, "kernelband_v2", 2, 30)));
  const Problem other = suite_problem("softmax");
  EXPECT_FALSE(replay->knows(other, start_state(other)));
  EXPECT_THROW(Judge(other, *replay), ConfigError);
}

TEST(Prior, ComesFromAttemptsAtOtherKernels) {
  const Problem problem = suite_problem("gelu");
  const auto evaluator = make_simulated(h200(), {});
  Judge judge(problem, *evaluator);
  const std::vector<PriorSample> samples = prior_samples(judge, 200, 1);
  ASSERT_EQ(samples.size(), 200U);
  int improved = 0;
  for (const PriorSample& sample : samples) {
    improved += sample.improved ? 1 : 0;
    EXPECT_NE(sample.strategy, Strategy::fusion) << "gelu has nothing to fuse";
    for (const double value : sample.profile) {
      EXPECT_GE(value, 0);
      EXPECT_LE(value, 1);
    }
  }
  EXPECT_GT(improved, 20);
  EXPECT_LT(improved, 180);
}

}  // namespace
}  // namespace foretoken::tune
