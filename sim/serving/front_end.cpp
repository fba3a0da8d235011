#include "sim/serving/front_end.hpp"

#include <algorithm>

namespace foretoken {

FrontEnd::FrontEnd(Platform& platform, RequestSource& source, std::unique_ptr<Router> router)
    : platform_(platform), source_(source), router_(std::move(router)) {}

void FrontEnd::add_replica(Replica& replica) {
  replicas_.push_back(&replica);
  statuses_.push_back({replica.id(), 0});
}

void FrontEnd::start() { arm_next_arrival(); }

void FrontEnd::arm_next_arrival() {
  if (pending_) return;
  pending_ = source_.next();
  if (pending_) platform_.at(std::max(pending_->arrival, platform_.now()), *this, 0);
}

void FrontEnd::on_event(std::uint64_t /*tag*/) {
  const Request request = std::move(*pending_);
  pending_.reset();
  ++arrived_;
  const ReplicaId chosen = router_->choose(request, statuses_);
  FORETOKEN_CHECK(chosen.value < replicas_.size(), "router chose replica {} of {}", chosen.value,
                  replicas_.size());
  arm_next_arrival();
  ++statuses_[chosen.value].outstanding;
  replicas_[chosen.value]->submit(request);
}

void FrontEnd::on_request_ended(const RequestRecord& record) {
  ++ended_;
  --statuses_[record.replica.value].outstanding;
  source_.on_finished(record.id, platform_.now());
  arm_next_arrival();
}

}  // namespace foretoken
