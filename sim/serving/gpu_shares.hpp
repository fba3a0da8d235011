// GPUs that replicas of two pools stand on: who has them now, and whose weights they had last. A
// replica takes all of its own or none; who may ask when is the fleets' business.
#pragma once

#include <unordered_map>

#include "sim/serving/replica.hpp"

namespace foretoken {

class GpuShares {
 public:
  [[nodiscard]] bool are_free(const Replica& replica) const;
  void take(const Replica& replica);
  /// `weights`: which stay in the GPUs' memory until another replica takes them, by a number for
  /// each model and layout; nullopt: none, they have failed.
  void leave(const Replica& replica, std::optional<int> weights);
  /// Whether another replica has left these weights on all of its GPUs.
  [[nodiscard]] bool hold(int weights, const Replica& replica) const;

 private:
  struct Share {
    bool is_taken = false;
    std::optional<int> weights;
    ReplicaId last;
  };
  std::unordered_map<std::uint32_t, Share> shares_;  // by GPU; never walked
};

}  // namespace foretoken
