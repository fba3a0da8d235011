// Who decides which kernel is changed next and by what strategy. A policy sees the pool and what it
// has been told of its own choices, and nothing of the evaluator; the same seed and the same
// answers give the same choices.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "calibration/tune/compatibility.hpp"
#include "calibration/tune/pool.hpp"
#include "sim/base/random.hpp"
#include "sim/base/registry.hpp"
#include "sim/base/table_reader.hpp"

namespace foretoken::tune {

/// An arm: a kernel of the pool, by its place there, and a strategy.
struct Arm {
  int kernel = 0;
  Strategy strategy = Strategy::tiling;
  friend bool operator==(const Arm&, const Arm&) = default;
};

/// For each kernel of the pool, whether the rewriter can do anything by each strategy.
using ArmMask = std::vector<std::array<bool, strategy_count>>;

struct Round {
  int number = 1;  // from 1
  const Pool& pool;
  const ArmMask& available;
};

struct Outcome {
  Arm arm;
  double reward = 0;
  bool improved = false;     // the child is valid and faster than its parent
  std::optional<int> child;  // its place in the pool, if it is valid
};

class Policy {
 public:
  virtual ~Policy() = default;
  /// An available arm; nothing where none is left that the policy would pull.
  virtual std::optional<Arm> choose(const Round& round) = 0;
  /// What became of the choice. Called once after each choice; `pool` already holds the child.
  virtual void learn(const Outcome& outcome, const Pool& pool) = 0;
  /// By kernel of the pool, for charts; empty for policies without clusters.
  [[nodiscard]] virtual std::vector<int> clusters() const { return {}; }
};

struct PolicyContext {
  std::uint64_t seed = 1;
  int budget = 20;                          // rounds there will be
  std::span<const PriorSample> prior = {};  // attempts at other problems
};

using PolicyFactory =
    std::function<std::unique_ptr<Policy>(TableReader& options, const PolicyContext& context)>;
using PolicyRegistry = Registry<PolicyFactory>;

/// Every policy of the program.
PolicyRegistry policy_catalog();

/// All arms that may be pulled, kernels first.
std::vector<Arm> available_arms(const Round& round);
/// One of `arms`, each as likely; nothing of none.
std::optional<Arm> any_of(const std::vector<Arm>& arms, RandomStream& random);
/// The fastest kernel that still has an arm, -1 if none has.
int fastest_with_arm(const Round& round);

}  // namespace foretoken::tune
