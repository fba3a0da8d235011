// What a step of one pipeline stage puts on its node's links, ready to be written into a course:
// for each group and traffic pattern, the flows of a byte. Ranks go in lockstep, so flows that
// carry equal shares become one over all their links, which costs SimGrid a quarter of eight.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "hardware/wiring.hpp"
#include "sim/platform/course.hpp"
#include "sim/platform/platform.hpp"

namespace foretoken {

class StageRoutes {
 public:
  /// `gpus` stand in `groups`, each on one node (checked); steps of all of them together must be on
  /// one node too. `wiring` must outlive it.
  StageRoutes(const Wiring& wiring, std::span<const GpuId> gpus, const CommGroupSizes& groups);

  /// The same stage over the wiring as it is now.
  [[nodiscard]] StageRoutes anew() const { return {wiring_, gpus_, groups_}; }

  [[nodiscard]] Course course_of(std::span<const StepRounds> rounds);
  /// All that a step may take, each once.
  [[nodiscard]] std::span<const LinkIndex> links() const { return links_; }

 private:
  struct Share {
    Route route;
    double share;
  };
  using Shares = std::vector<Share>;

  [[nodiscard]] bool are_on_one_node(std::span<const GpuId> gpus) const;
  const Shares& shares_of(CommGroup group, TrafficPattern pattern);
  [[nodiscard]] Shares lockstep(CommGroup group, TrafficPattern pattern) const;

  const Wiring& wiring_;
  std::vector<GpuId> gpus_;
  CommGroupSizes groups_;
  std::array<std::optional<Shares>, 4 * 5> shares_;  // by group, then pattern
  std::vector<LinkIndex> links_;
};

}  // namespace foretoken
