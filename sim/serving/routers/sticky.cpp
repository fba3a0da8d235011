// A session stays with the replica that took its first request, as load balancers do by cookie or
// header: its context is in the cache there, and the router need not know what prompts say. It
// moves to the replica with the fewest unfinished requests when its own takes none or has
// `imbalance_max` more than that one. Requests of no session go there too. Only the `sessions_max`
// sessions heard from last are remembered.

#include <algorithm>
#include <list>
#include <unordered_map>

#include "sim/serving/router.hpp"

namespace foretoken {

Registry<RouterFactory>::Entry sticky_router();

namespace {

struct StickyConfig {
  std::int64_t imbalance_max = 32;  // requests
  std::int64_t sessions_max = 1'000'000;
};

const Keys<StickyConfig>& sticky_keys() {
  using S = StickyConfig;
  static const Keys<S> keys = {
      {"imbalance_max",
       &S::imbalance_max,
       {.range = not_negative(), .unit = "requests"},
       "A session moves to the least loaded replica once its own leads that one by more requests "
       "than this."},
      {"sessions_max",
       &S::sessions_max,
       {.range = at_least(1), .unit = "sessions"},
       "Sessions that the router remembers; the oldest are forgotten."},
  };
  return keys;
}

StickyConfig read_sticky(TableReader& table) {
  StickyConfig config;
  sticky_keys().read(table, config);
  return config;
}

class Sticky final : public Router {
 public:
  explicit Sticky(const StickyConfig& config) : config_(config) {}

  ReplicaId choose(const Request& request, std::span<const ReplicaStatus> replicas) override {
    const ReplicaStatus& idlest =
        *std::ranges::min_element(replicas, {}, &ReplicaStatus::outstanding);
    if (!request.session) return idlest.id;
    const auto known = by_session_.find(*request.session);
    if (known == by_session_.end()) return remember(*request.session, idlest.id);
    Place& place = *known->second;
    places_.splice(places_.end(), places_, known->second);
    const auto own = std::ranges::find(replicas, place.replica, &ReplicaStatus::id);
    const bool stays =
        own != replicas.end() && own->outstanding - idlest.outstanding <= config_.imbalance_max;
    if (!stays) place.replica = idlest.id;
    return place.replica;
  }
  [[nodiscard]] bool sees_engines() const override { return false; }

 private:
  struct Place {
    std::uint64_t session = 0;
    ReplicaId replica;
  };

  ReplicaId remember(std::uint64_t session, ReplicaId replica) {
    if (std::ssize(places_) == config_.sessions_max) {
      by_session_.erase(places_.front().session);
      places_.pop_front();
    }
    places_.push_back({session, replica});
    by_session_.emplace(session, std::prev(places_.end()));
    return replica;
  }

  StickyConfig config_;
  std::list<Place> places_;  // the session heard from longest ago first
  std::unordered_map<std::uint64_t, std::list<Place>::iterator> by_session_;  // never walked
};

}  // namespace

Registry<RouterFactory>::Entry sticky_router() {
  return {"sticky", "a session stays with one replica unless that is far more loaded",
          [](TableReader& options, const RandomStreams&) {
            return std::make_unique<Sticky>(read_sticky(options));
          },
          sticky_keys().notes()};
}

}  // namespace foretoken
