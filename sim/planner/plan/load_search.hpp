// The highest load that holds, by bisection of its logarithm: doubling steps away from a guess
// until one load holds and a higher one fails, then halving. The stopping rule: the load that fails
// exceeds the one that holds by no more than `tolerance`. Takes it that less load never does worse.
#pragma once

#include <optional>

namespace foretoken {

class LoadSearch {
 public:
  struct Limits {
    double tolerance = 0.02;          // (fails - holds) / holds
    double least = 1e-3, most = 1e3;  // beyond which nothing is tried
    double ceiling = 1e9;             // nothing higher can hold
  };

  LoadSearch(double guess, const Limits& limits);

  /// The load to be tried next; nullopt: the search is over.
  [[nodiscard]] std::optional<double> next() const;
  void take(double load, bool holds);

  /// The highest load known to hold; nullopt: none.
  [[nodiscard]] std::optional<double> holds() const { return holds_; }
  /// The lowest load known to fail (or the ceiling); nullopt: none.
  [[nodiscard]] std::optional<double> fails() const { return fails_; }

 private:
  Limits limits_;
  double guess_;
  double step_;  // factor
  std::optional<double> holds_, fails_;
};

}  // namespace foretoken
