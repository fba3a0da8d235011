// Replicas take turns, whatever their load.

#include "sim/serving/router.hpp"

namespace foretoken {

Registry<RouterFactory>::Entry round_robin_router();

namespace {

class RoundRobin final : public Router {
 public:
  ReplicaId choose(const Request& /*request*/, std::span<const ReplicaStatus> replicas) override {
    return replicas[turn_++ % replicas.size()].id;
  }
  [[nodiscard]] bool sees_engines() const override { return false; }

 private:
  std::size_t turn_ = 0;
};

}  // namespace

Registry<RouterFactory>::Entry round_robin_router() {
  return {"round_robin", "replicas take turns, whatever their load",
          [](TableReader&, const RandomStreams&) { return std::make_unique<RoundRobin>(); }};
}

}  // namespace foretoken
