#include "calibration/tune/open_regret.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>

namespace foretoken::tune {
namespace {

class OpenArms {
 public:
  OpenArms(Judge& judge, RewardRule rule) : judge_(&judge), rule_(rule) {}

  void add_kernel(const PoolEntry& entry) {
    const auto kernel = arms_.size();
    arms_.emplace_back();
    for (int s = 0; s < strategy_count; ++s) {
      for (const State& moved :
           moves(judge_->problem(), entry.candidate.state, static_cast<Strategy>(s))) {
        if (seen_.contains(moved) || !judge_->evaluator().knows(judge_->problem(), moved)) continue;
        const Judged& child = judge_->judge(candidate_at(judge_->problem(), moved));
        const double reward = reward_of(entry.time, child.evaluation, child.time, rule_);
        Arm& arm = arms_[kernel][static_cast<std::size_t>(s)];
        arm.sum += reward;
        ++arm.count;
        ways_to_[moved].push_back({kernel, static_cast<std::size_t>(s), reward});
      }
    }
  }

  void see(const State& state) {
    if (!seen_.insert(state).second) return;
    for (const Way& way : ways_to_[state]) {
      Arm& arm = arms_[way.kernel][way.strategy];
      arm.sum -= way.reward;
      --arm.count;
    }
  }

  [[nodiscard]] double best_mean() const {
    double best = 0;
    for (const auto& of_kernel : arms_) {
      for (const Arm& arm : of_kernel) {
        if (arm.count > 0) best = std::max(best, arm.sum / arm.count);
      }
    }
    return best;
  }

 private:
  struct Arm {
    double sum = 0;
    int count = 0;
  };
  struct Way {
    std::size_t kernel, strategy;
    double reward;
  };

  Judge* judge_;
  RewardRule rule_;
  std::vector<std::array<Arm, strategy_count>> arms_;  // by kernel of the pool
  std::map<State, std::vector<Way>> ways_to_;
  std::set<State> seen_;
};

/// The state that a step tried: its text is all that a failed one leaves.
const State* child_of(const Problem& problem, const std::vector<State>& around,
                      const std::string& text) {
  const auto found = std::ranges::find_if(
      around, [&](const State& state) { return text_of(problem, state) == text; });
  return found == around.end() ? nullptr : &*found;
}

}  // namespace

std::vector<double> open_means(Judge& judge, const Trajectory& trajectory, RewardRule rule) {
  OpenArms open(judge, rule);
  open.see(trajectory.pool.front().candidate.state);
  open.add_kernel(trajectory.pool.front());
  std::vector<double> means;
  std::size_t kernels = 1;
  for (const Step& step : trajectory.steps) {
    means.push_back(open.best_mean());
    const State& parent =
        trajectory.pool[static_cast<std::size_t>(step.arm.kernel)].candidate.state;
    const std::vector<State> around = moves(judge.problem(), parent, step.arm.strategy);
    if (const State* child = child_of(judge.problem(), around, step.child)) open.see(*child);
    if (step.status == Status::ok) open.add_kernel(trajectory.pool[kernels++]);
  }
  return means;
}

}  // namespace foretoken::tune
