// The bandit's loop: choose an arm, rewrite the kernel, judge the child, learn. One search is one
// problem, one policy, one seed; the same three and the same evaluator give the same steps.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "calibration/tune/evaluator.hpp"
#include "calibration/tune/policy.hpp"
#include "calibration/tune/reward.hpp"
#include "calibration/tune/rewriter.hpp"

namespace foretoken::tune {

/// What an evaluation means for a search.
struct Judged {
  Evaluation evaluation;
  double time = 0;  // relative to the untouched kernel; 0 if it failed
  Profile profile{};
  RuntimeFeatures runtime{};
};

/// Judges candidates of one problem against its untouched kernel, and remembers points of the
/// template's space, so that searches that share a judge ask the evaluator once.
class Judge {
 public:
  /// Throws ConfigError if the untouched kernel cannot be judged or fails.
  Judge(const Problem& problem, Evaluator& evaluator);
  const Judged& judge(const Candidate& candidate);
  [[nodiscard]] const Problem& problem() const { return *problem_; }
  [[nodiscard]] Evaluator& evaluator() { return *evaluator_; }

  /// The largest expected reward of any (kernel, strategy), each move of the strategy as likely,
  /// over all valid points of the space that the evaluator knows (mu* of Equation 5). Where the
  /// evaluator cannot judge whole spaces: over the points judged so far.
  double best_mean_reward(RewardRule rule);
  /// The fastest in the space, or so far; the first among equals.
  const Judged& best();
  double best_speedup() { return 1 / best().time; }

 private:
  Judged judged(const Candidate& candidate);
  /// Whether the point counts for what is best.
  [[nodiscard]] bool counts(const State& state) const;

  const Problem* problem_;
  Evaluator* evaluator_;
  std::vector<double> reference_;
  std::map<State, Judged> states_;
  Judged outside_;
};

struct Step {
  int round = 0;
  Arm arm;
  std::string child;  // its parameters; its identity if it came from outside
  Status status = Status::ok;
  std::string detail;
  double speedup = 0;  // of the child; 0 if it failed
  double reward = 0;
  double best = 1;  // highest speed-up so far
};

/// Why a search ended: its rounds were used up, no arm was left, or its fastest kernel was enough.
enum class End { budget, no_arm, enough };

struct Trajectory {
  End end = End::budget;
  std::string problem;
  std::string policy;
  std::uint64_t seed = 0;
  std::vector<Step> steps;
  Pool pool;
  std::vector<int> clusters;  // by kernel of the pool, if the policy clusters

  [[nodiscard]] double best() const { return steps.empty() ? 1.0 : steps.back().best; }
};

/// Whether a kernel with these times by shape is all that one wants.
using Enough = std::function<bool(const std::vector<double>& seconds)>;

/// Up to `budget` rounds; fewer where no arm is left, or once a kernel is `enough`, the untouched
/// one included. Nothing is ever enough without it.
Trajectory search(Judge& judge, Rewriter& rewriter, Policy& policy, int budget, RewardRule rule,
                  const Enough& enough = {});

/// `count` attempts at random points of `judge`'s space by random strategies, profiles scaled
/// within themselves: what other problems' policies learn their prior from.
std::vector<PriorSample> prior_samples(Judge& judge, int count, std::uint64_t seed);

/// About `count` attempts at all problems of the suite that `recorded` knows, but `own`.
std::vector<PriorSample> prior_of_others(Evaluator& recorded, const std::string& own, int count,
                                         std::uint64_t seed);

/// One line of JSON a step, without times of day: equal runs are equal byte for byte.
std::string to_text(const Trajectory& trajectory);

}  // namespace foretoken::tune
