// Where requests enter: takes them from the source as they arrive, lets the router choose a
// replica, and tells the source when one has ended (closed loops wait for that).
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "sim/serving/replica.hpp"

namespace foretoken {

class FrontEnd final : public EventHandler, public ReplicaListener {
 public:
  /// Replicas are added before start(). References must outlive the front end.
  FrontEnd(Platform& platform, RequestSource& source, std::unique_ptr<Router> router);

  void add_replica(Replica& replica);
  /// Arms the first arrival.
  void start();

  [[nodiscard]] std::int64_t arrived() const { return arrived_; }
  [[nodiscard]] std::int64_t ended() const { return ended_; }

  void on_event(std::uint64_t tag) override;
  void on_request_ended(const RequestRecord& record) override;

 private:
  void arm_next_arrival();

  Platform& platform_;
  RequestSource& source_;
  std::unique_ptr<Router> router_;
  std::vector<Replica*> replicas_;
  std::vector<ReplicaStatus> statuses_;
  std::optional<Request> pending_;  // its arrival event is armed
  std::int64_t arrived_ = 0, ended_ = 0;
};

}  // namespace foretoken
