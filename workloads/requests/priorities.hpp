// Priority classes of requests: `priorities = [{ priority = 0, share = 0.2 }, ...]` of the
// [workload] table. Each request belongs to one class by chance; which it is depends on nothing but
// the seed and the request's number.
#pragma once

#include <vector>

#include "sim/base/keys.hpp"
#include "sim/base/random.hpp"

namespace foretoken {

class Priorities {
 public:
  struct Class {
    int priority = 0;    // lower goes first
    double share = 1.0;  // of the requests, relative to the other classes'
  };

  /// Without classes every request has priority 0.
  Priorities() = default;
  explicit Priorities(std::vector<Class> classes);

  [[nodiscard]] bool empty() const { return classes_.empty(); }
  /// The priority of the next request. Draws one number; none without classes.
  int sample(RandomStream& random) const;
  /// Sets the key if there are classes.
  void describe(Value& workload) const;

 private:
  std::vector<Class> classes_;
  double share_sum_ = 0.0;
};

/// What the key and the tables of its list may hold.
KeyNote priorities_note();
KeyTable priorities_key_table();

/// Reads `priorities`; absent means none. Reports mistakes.
Priorities read_priorities(TableReader& workload);

}  // namespace foretoken
