// The fastest kernel so far, by the strategy that has earned most on average. epsilon_greedy does
// so except for a share of rounds in which it takes any arm.
#include "calibration/tune/strategy_means.hpp"

namespace foretoken::tune {
namespace {

class GreedyPolicy final : public Policy {
 public:
  GreedyPolicy(std::uint64_t seed, double epsilon)
      : random_(RandomStreams(seed).stream("greedy")), epsilon_(epsilon) {}

  std::optional<Arm> choose(const Round& round) override {
    if (epsilon_ > 0 && uniform(random_) < epsilon_) return any_of(available_arms(round), random_);
    const int kernel = fastest_with_arm(round);
    if (kernel < 0) return std::nullopt;
    return best_strategy(round, kernel, means_, random_);
  }
  void learn(const Outcome& outcome, const Pool&) override {
    means_.add(outcome.arm.strategy, outcome.reward);
  }

 private:
  RandomStream random_;
  double epsilon_;
  StrategyMeans means_;
};

}  // namespace

std::unique_ptr<Policy> make_greedy(TableReader&, const PolicyContext& context) {
  return std::make_unique<GreedyPolicy>(context.seed, 0.0);
}

std::unique_ptr<Policy> make_epsilon_greedy(TableReader& options, const PolicyContext& context) {
  double epsilon = 0.1;
  options.read("epsilon", epsilon);
  options.expect("epsilon", epsilon >= 0 && epsilon <= 1, "must be within [0, 1]");
  return std::make_unique<GreedyPolicy>(context.seed, epsilon);
}

}  // namespace foretoken::tune
