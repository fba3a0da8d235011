// The replica with the fewest requests that have not ended; the lowest id among equals.

#include <algorithm>

#include "sim/serving/router.hpp"

namespace foretoken {

Registry<RouterFactory>::Entry least_outstanding_router();

namespace {

class LeastOutstanding final : public Router {
 public:
  ReplicaId choose(const Request& /*request*/, std::span<const ReplicaStatus> replicas) override {
    return std::ranges::min_element(replicas, {}, &ReplicaStatus::outstanding)->id;
  }
  [[nodiscard]] bool sees_engines() const override { return false; }
};

}  // namespace

Registry<RouterFactory>::Entry least_outstanding_router() {
  return {"least_outstanding", "the replica with the fewest unfinished requests",
          [](TableReader&, const RandomStreams&) { return std::make_unique<LeastOutstanding>(); }};
}

}  // namespace foretoken
