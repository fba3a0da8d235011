// The replica with the shortest queue, as its engine last said, and of these the one whose KV cache
// is emptiest, then the one with the fewest unfinished requests, then the lowest id. Sees long
// contexts that counts of requests hide. The queue comes first because waiting requests hold no KV
// yet: judged by the cache alone, a replica that was just sent ten prompts looks as idle as before.

#include <algorithm>
#include <tuple>

#include "sim/serving/router.hpp"

namespace foretoken {

Registry<RouterFactory>::Entry kv_load_router();

namespace {

class KvLoad final : public Router {
 public:
  ReplicaId choose(const Request& /*request*/, std::span<const ReplicaStatus> replicas) override {
    const auto load = [](const ReplicaStatus& replica) {
      return std::tuple(replica.waiting, replica.kv_used, replica.outstanding);
    };
    return std::ranges::min_element(replicas, {}, load)->id;
  }
};

}  // namespace

Registry<RouterFactory>::Entry kv_load_router() {
  return {"kv_load", "the shortest queue, then the emptiest KV cache",
          [](TableReader&, const RandomStreams&) { return std::make_unique<KvLoad>(); }};
}

}  // namespace foretoken
