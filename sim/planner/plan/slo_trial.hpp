// Does a deployment hold its SLO? One replication (a seed, or a sample of a long trace) after
// another gives an attainment, until the answer is clear. It holds if the first one does, which is
// the scenario as it stands, and the lower end of the one-sided 95 % t-interval of the mean reaches
// the target. The stopping rule: a first replication that misses is the end; then at least `least`
// of them, until the interval lies on one side of the target; after `most` its lower end decides.
#pragma once

#include <optional>
#include <vector>

namespace foretoken {

struct Replications {
  int least = 2, most = 5;
};

class SloTrial {
 public:
  /// `target`: share of requests that should meet the SLO, 0 to 1.
  SloTrial(double target, Replications replications)
      : target_(target), replications_(replications) {}

  void add(double attainment) { attainments_.push_back(attainment); }

  /// nullopt: not clear yet.
  [[nodiscard]] std::optional<bool> verdict() const;
  /// How many more replications are wanted before the verdict is looked at again.
  [[nodiscard]] int wanted() const;
  /// Of the interval; of one replication its attainment.
  [[nodiscard]] double lower_end() const;
  [[nodiscard]] int count() const { return static_cast<int>(attainments_.size()); }

 private:
  double target_;
  Replications replications_;
  std::vector<double> attainments_;
};

struct MeanAndError {
  double mean = 0;
  double error = 0;  // standard error of the mean; 0 for a single value
};
MeanAndError mean_and_error(const std::vector<double>& values);

/// Student's t: the quantile at `probability` with `count` - 1 degrees of freedom, count at
/// least 2.
double t_quantile(double probability, int count);

}  // namespace foretoken
