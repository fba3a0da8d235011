#include "calibration/tune/search.hpp"

#include <algorithm>

#include "sim/base/json.hpp"

namespace foretoken::tune {

Judge::Judge(const Problem& problem, Evaluator& evaluator)
    : problem_(&problem), evaluator_(&evaluator) {
  const Candidate start = candidate_at(problem, start_state(problem));
  const Evaluation untouched = evaluator.evaluate(problem, start);
  if (untouched.status != Status::ok) {
    throw ConfigError({}, fmt::format("{}: the untouched kernel cannot be evaluated ({}): {}",
                                      problem.name, name_of(untouched.status), untouched.detail));
  }
  reference_ = untouched.seconds;
  Judged first{untouched, 1.0, profile_of(problem, start, untouched, evaluator.gpu()), {}};
  first.runtime = runtime_features_of(untouched, 1.0, evaluator.gpu());
  states_.emplace(start.state, std::move(first));
}

Judged Judge::judged(const Candidate& candidate) {
  Judged result{evaluator_->evaluate(*problem_, candidate), 0, {}, {}};
  if (result.evaluation.status == Status::ok) {
    result.time = 1 / weighted_speedup(reference_, result.evaluation.seconds, problem_->weights);
    result.profile = profile_of(*problem_, candidate, result.evaluation, evaluator_->gpu());
    result.runtime = runtime_features_of(result.evaluation, result.time, evaluator_->gpu());
  }
  return result;
}

const Judged& Judge::judge(const Candidate& candidate) {
  if (candidate.state.empty()) return outside_ = judged(candidate);
  const auto found = states_.find(candidate.state);
  if (found != states_.end()) return found->second;
  return states_.emplace(candidate.state, judged(candidate)).first->second;
}

bool Judge::counts(const State& state) const {
  return evaluator_->is_exhaustible() ? evaluator_->knows(*problem_, state)
                                      : states_.contains(state);
}

double Judge::best_mean_reward(RewardRule rule) {
  double best = 0;
  for (const State& state : all_states(*problem_)) {
    if (!counts(state)) continue;
    const Judged& parent = judge(candidate_at(*problem_, state));
    if (parent.evaluation.status != Status::ok) continue;
    for (int s = 0; s < strategy_count; ++s) {
      double sum = 0;
      int count = 0;
      for (State& moved : moves(*problem_, state, static_cast<Strategy>(s))) {
        if (!counts(moved)) continue;
        const Judged& child = judge(candidate_at(*problem_, std::move(moved)));
        sum += reward_of(parent.time, child.evaluation, child.time, rule);
        ++count;
      }
      if (count > 0) best = std::max(best, sum / count);
    }
  }
  return best;
}

const Judged& Judge::best() {
  const Judged* best = &states_.at(start_state(*problem_));
  for (const State& state : all_states(*problem_)) {
    if (!counts(state)) continue;
    const Judged& judged = judge(candidate_at(*problem_, state));
    if (judged.evaluation.status == Status::ok && judged.time < best->time) best = &judged;
  }
  return *best;
}

Trajectory search(Judge& judge, Rewriter& rewriter, Policy& policy, int budget, RewardRule rule,
                  const Enough& enough) {
  const Problem& problem = judge.problem();
  Trajectory trajectory;
  trajectory.problem = problem.name;
  const auto entry_of = [](Candidate candidate, const Judged& judged, int parent) {
    PoolEntry entry;
    entry.candidate = std::move(candidate);
    entry.parent = parent;
    entry.seconds = judged.evaluation.seconds;
    entry.time = judged.time;
    entry.profile = judged.profile;
    entry.is_counted = judged.evaluation.counters.has_value();
    entry.runtime = judged.runtime;
    entry.compile_seconds = judged.evaluation.compile_seconds;
    return entry;
  };
  Pool& pool = trajectory.pool;
  {
    Candidate start = candidate_at(problem, start_state(problem));
    const Judged& judged = judge.judge(start);
    if (enough && enough(judged.evaluation.seconds)) trajectory.end = End::enough;
    pool.push_back(entry_of(std::move(start), judged, -1));
  }
  double best = 1;
  for (int round = 1; round <= budget && trajectory.end != End::enough; ++round) {
    ArmMask available;
    for (const PoolEntry& entry : pool) available.push_back(rewriter.can(entry));
    const std::optional<Arm> arm = policy.choose({round, pool, available});
    if (!arm) {
      trajectory.end = End::no_arm;
      break;
    }
    const auto kernel = static_cast<std::size_t>(arm->kernel);
    FORETOKEN_CHECK(
        kernel < pool.size() && available[kernel][static_cast<std::size_t>(arm->strategy)],
        "the policy chose an arm that there is not");
    Step step{round, *arm, {}, Status::ok, {}, 0, 0, best};
    Outcome outcome{*arm, 0, false, std::nullopt};
    Rewrite rewrite = rewriter.rewrite(pool[kernel], arm->strategy);
    if (rewrite.candidate) {
      const Judged& judged = judge.judge(*rewrite.candidate);
      step.child = rewrite.candidate->state.empty() ? identity_of(*rewrite.candidate)
                                                    : text_of(problem, rewrite.candidate->state);
      step.status = judged.evaluation.status;
      step.detail = judged.evaluation.detail;
      outcome.reward = reward_of(pool[kernel].time, judged.evaluation, judged.time, rule);
      if (judged.evaluation.status == Status::ok) {
        step.speedup = 1 / judged.time;
        if (enough && step.speedup > best && enough(judged.evaluation.seconds)) {
          trajectory.end = End::enough;
        }
        best = std::max(best, step.speedup);
        outcome.improved = judged.time < pool[kernel].time;
        outcome.child = static_cast<int>(pool.size());
        pool.push_back(entry_of(std::move(*rewrite.candidate), judged, arm->kernel));
      }
    } else {
      step.status = rewrite.failure.status;
      step.detail = rewrite.failure.detail;
    }
    step.reward = outcome.reward;
    step.best = best;
    trajectory.steps.push_back(std::move(step));
    policy.learn(outcome, pool);
  }
  trajectory.clusters = policy.clusters();
  return trajectory;
}

std::vector<PriorSample> prior_samples(Judge& judge, int count, std::uint64_t seed) {
  const Problem& problem = judge.problem();
  RandomStream random = RandomStreams(seed).stream("prior " + problem.name);
  const std::vector<State> states = all_states(problem);
  const auto any = [&](const auto& of) -> const auto& {
    return of[static_cast<std::size_t>(uniform(random) * static_cast<double>(of.size()))];
  };
  struct Attempt {
    Profile profile;
    Strategy strategy;
    bool improved;
  };
  std::vector<Attempt> attempts;
  ProfileScale scale;
  // Points that fail or have no move do not count; a space of nothing else ends the search.
  for (int tries = 0; static_cast<int>(attempts.size()) < count && tries < 20 * count; ++tries) {
    const State& state = any(states);
    const auto strategy = static_cast<Strategy>(
        static_cast<int>(uniform(random) * static_cast<double>(strategy_count)));
    const std::vector<State> around = moves(problem, state, strategy);
    if (around.empty() || !judge.evaluator().knows(problem, state)) continue;
    const State& moved = any(around);
    if (!judge.evaluator().knows(problem, moved)) continue;
    const Judged& parent = judge.judge(candidate_at(problem, state));
    if (parent.evaluation.status != Status::ok) continue;
    const Judged& child = judge.judge(candidate_at(problem, moved));
    scale.add(parent.profile);
    attempts.push_back({parent.profile, strategy,
                        child.evaluation.status == Status::ok && child.time < parent.time});
  }
  std::vector<PriorSample> samples;
  for (const Attempt& attempt : attempts) {
    samples.push_back({scale.scaled(attempt.profile), attempt.strategy, attempt.improved});
  }
  return samples;
}

std::vector<PriorSample> prior_of_others(Evaluator& recorded, const std::string& own, int count,
                                         std::uint64_t seed) {
  std::vector<PriorSample> samples;
  if (count == 0) return samples;
  std::vector<Problem> others = load_suite();
  std::erase_if(others, [&](const Problem& problem) {
    return problem.name == own || !recorded.knows(problem, start_state(problem));
  });
  for (const Problem& problem : others) {
    Judge judge(problem, recorded);
    const auto each = prior_samples(judge, 1 + count / static_cast<int>(others.size()), seed);
    samples.insert(samples.end(), each.begin(), each.end());
  }
  return samples;
}

std::string to_text(const Trajectory& trajectory) {
  std::string text;
  for (const Step& step : trajectory.steps) {
    text += to_json(ValueObject{{"problem", trajectory.problem},
                                {"policy", trajectory.policy},
                                {"seed", static_cast<std::int64_t>(trajectory.seed)},
                                {"round", step.round},
                                {"kernel", step.arm.kernel},
                                {"strategy", std::string(name_of(step.arm.strategy))},
                                {"child", step.child},
                                {"status", std::string(name_of(step.status))},
                                {"speedup", step.speedup},
                                {"reward", step.reward},
                                {"best", step.best}},
                    -1);
    text += '\n';
  }
  return text;
}

}  // namespace foretoken::tune
