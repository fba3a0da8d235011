// A request goes where its adapter (LoRA) is in GPU memory, as the Kubernetes gateway's LoRA
// affinity has it: to the replica with the fewest unfinished requests among those that hold it, by
// what the engines say or by what was sent there since. One that nobody holds goes to the replica
// with the fewest requests of all, and so does one whose holders all have `imbalance_max` more than
// that one. Requests for the base model go there too.

#include <algorithm>
#include <unordered_map>

#include "sim/serving/router.hpp"

namespace foretoken {

Registry<RouterFactory>::Entry adapter_affinity_router();

namespace {

struct AdapterAffinityConfig {
  std::int64_t imbalance_max = 32;  // requests
};

const Keys<AdapterAffinityConfig>& adapter_affinity_keys() {
  using S = AdapterAffinityConfig;
  static const Keys<S> keys = {
      {"imbalance_max",
       &S::imbalance_max,
       {.range = not_negative(), .unit = "requests"},
       "A request goes to the least loaded replica, which then loads its adapter, once all "
       "replicas that hold it lead that one by more requests than this."},
  };
  return keys;
}

class AdapterAffinity final : public Router {
 public:
  explicit AdapterAffinity(const AdapterAffinityConfig& config) : config_(config) {}

  ReplicaId choose(const Request& request, std::span<const ReplicaStatus> replicas) override {
    const ReplicaStatus* idlest = &replicas.front();
    const ReplicaStatus* holder = nullptr;
    for (const ReplicaStatus& replica : replicas) {
      if (replica.outstanding < idlest->outstanding) idlest = &replica;
      if (request.adapter && holds(replica, *request.adapter) &&
          (holder == nullptr || replica.outstanding < holder->outstanding)) {
        holder = &replica;
      }
    }
    const bool is_near =
        holder != nullptr && holder->outstanding - idlest->outstanding <= config_.imbalance_max;
    const ReplicaStatus& chosen = is_near ? *holder : *idlest;
    if (request.adapter) sent_[*request.adapter] = chosen.id;
    return chosen.id;
  }

  void forget(ReplicaId replica) override {
    std::erase_if(sent_, [&](const auto& sent) { return sent.second == replica; });
  }

 private:
  [[nodiscard]] bool holds(const ReplicaStatus& replica, std::uint32_t adapter) const {
    if (std::ranges::find(replica.adapters, adapter) != replica.adapters.end()) return true;
    const auto sent = sent_.find(adapter);
    return sent != sent_.end() && sent->second == replica.id;
  }

  AdapterAffinityConfig config_;
  std::unordered_map<std::uint32_t, ReplicaId> sent_;  // last; never walked into a result
};

}  // namespace

Registry<RouterFactory>::Entry adapter_affinity_router() {
  return {"adapter_affinity", "the least loaded replica that holds the request's LoRA adapter",
          [](TableReader& options, const RandomStreams&) {
            AdapterAffinityConfig config;
            adapter_affinity_keys().read(options, config);
            return std::make_unique<AdapterAffinity>(config);
          },
          adapter_affinity_keys().notes()};
}

}  // namespace foretoken
