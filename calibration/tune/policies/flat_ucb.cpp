// UCB1 over every (kernel, strategy) by itself, as if no two kernels had anything in common: what
// clustering is meant to improve on. An arm that was never pulled comes first.
#include <cmath>
#include <map>

#include "calibration/tune/policy.hpp"

namespace foretoken::tune {
namespace {

class FlatUcbPolicy final : public Policy {
 public:
  FlatUcbPolicy(std::uint64_t seed, double exploration)
      : random_(RandomStreams(seed).stream("flat_ucb")), exploration_(exploration) {}

  std::optional<Arm> choose(const Round& round) override {
    std::vector<Arm> best;
    double highest = 0;
    for (const Arm& arm : available_arms(round)) {
      const auto found = pulls_.find({arm.kernel, arm.strategy});
      const double score =
          found == pulls_.end()
              ? std::numeric_limits<double>::infinity()
              : found->second.sum / found->second.count +
                    exploration_ * std::sqrt(2 * std::log(round.number) / found->second.count);
      if (!best.empty() && score < highest) continue;
      if (best.empty() || score > highest) best.clear();
      best.push_back(arm);
      highest = score;
    }
    return any_of(best, random_);
  }
  void learn(const Outcome& outcome, const Pool&) override {
    Pulls& pulls = pulls_[{outcome.arm.kernel, outcome.arm.strategy}];
    ++pulls.count;
    pulls.sum += outcome.reward;
  }

 private:
  struct Pulls {
    int count = 0;
    double sum = 0;
  };
  RandomStream random_;
  double exploration_;
  std::map<std::pair<int, Strategy>, Pulls> pulls_;
};

}  // namespace

std::unique_ptr<Policy> make_flat_ucb(TableReader& options, const PolicyContext& context) {
  double exploration = 1;
  options.read("exploration", exploration);
  options.expect("exploration", exploration >= 0, "must not be negative");
  return std::make_unique<FlatUcbPolicy>(context.seed, exploration);
}

}  // namespace foretoken::tune
