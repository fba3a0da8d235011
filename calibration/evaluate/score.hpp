// How far predictions are from measurements.
#pragma once

#include <cstddef>
#include <vector>

namespace foretoken {

struct Score {
  std::size_t rows = 0;
  double mape = 0;    // mean of |predicted - measured| / measured
  double median = 0;  // of the same
  double p90 = 0;     // nearest rank
  double bias = 0;    // mean of (predicted - measured) / measured
};

class ScoreBoard {
 public:
  void add(double predicted, double measured) { errors_.push_back(predicted / measured - 1); }
  [[nodiscard]] Score score() const;

 private:
  std::vector<double> errors_;
};

}  // namespace foretoken
