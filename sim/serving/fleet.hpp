// Replicas behind one router: who is up, who gets the next request, and what waits while nobody is.
// They may be of several kinds, each a part of the fleet. Replicas start (their weights have to be
// loaded), serve, drain and fail here; when they should is others' business.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "sim/serving/cache_events.hpp"
#include "sim/serving/fleet_usage.hpp"
#include "sim/serving/gateway_queue.hpp"
#include "sim/serving/gpu_shares.hpp"
#include "sim/serving/pool.hpp"
#include "sim/serving/replica.hpp"
#include "sim/serving/router.hpp"
#include "sim/serving/settings/front_end_settings.hpp"

namespace foretoken {

/// draining: serves what it has and takes nothing new.
enum class ReplicaState { stopped, starting, serving, draining, failed };
template <>
struct EnumNames<ReplicaState> {
  static constexpr auto names =
      std::to_array<std::string_view>({"stopped", "starting", "serving", "draining", "failed"});
};

struct MemberSettings {
  Seconds startup = {};  // from the decision to start the replica to its first request
  std::optional<Seconds> startup_from_peer = {};  // the same with weights of one that serves
  std::optional<Seconds> wake = {};  // the same of one that served before and was stopped
  bool is_scaled = false;            // when it is stopped it may be started
  /// Of GPUs that another pool's replicas stand on too; null: they are its own. Outlives the fleet.
  GpuShares* gpus = nullptr;
  int weights = 0;                          // which it loads: GpuShares::hold()
  std::optional<Seconds> role_switch = {};  // startup where these are in place
};

class Fleet final : public Pool, public RequestListener, public EventHandler {
 public:
  /// References must outlive the fleet. `client` is told of every request.
  Fleet(const FrontEndSettings& settings, Platform& platform, std::unique_ptr<Router> router,
        RequestListener& client);

  /// Adds a replica, which tells this fleet of its requests. Ids count up by 1.
  void add(Replica& replica, MemberSettings settings = {},
           ReplicaState state = ReplicaState::serving);

  void submit(const Request& request, const RequestRecord& record) override;
  void cancel(RequestId id, RequestStatus status) override;
  void abandon() override;

  /// A stopped replica starts, a draining one takes requests again. No effect on others, nor where
  /// another pool's replica has its GPUs.
  void start(std::size_t replica);
  /// Whether start() would have an effect on a stopped replica.
  [[nodiscard]] bool finds_gpus(std::size_t replica) const { return finds_gpus(members_[replica]); }
  /// A serving replica drains, a starting one stops. No effect on others.
  void stop(std::size_t replica);
  /// Whatever it was, it is gone with all it held, until as many repairs follow. Requests in it are
  /// lost.
  void fail(std::size_t replica);
  /// One of its failures is over; after the last it starts again if it was up.
  void repair(std::size_t replica);
  /// A failed replica that nobody will repair; requests that only it could have served fail.
  void give_up(std::size_t replica);
  /// Keeps the usage of `part` from now on.
  void count_usage(FleetUsage& usage, FleetPart part);

  [[nodiscard]] std::size_t size() const { return members_.size(); }
  [[nodiscard]] ReplicaState state(std::size_t replica) const { return members_[replica].state; }
  [[nodiscard]] const Replica& replica(std::size_t index) const { return *members_[index].replica; }
  [[nodiscard]] std::int64_t outstanding(std::size_t replica) const {
    return members_[replica].outstanding;
  }
  /// Of all requests that came, attempts after failures included.
  struct Demand {
    double prompt_tokens = 0, output_tokens = 0;
  };
  [[nodiscard]] const Demand& demand() const { return demand_; }
  /// Of the requests that a replica completed.
  struct Served {
    std::int64_t requests = 0;
    double prompt_tokens = 0, output_tokens = 0;
  };
  [[nodiscard]] const Served& served(std::size_t replica) const { return members_[replica].served; }
  /// Requests that no replica has taken yet, because none serves or all are full.
  [[nodiscard]] std::int64_t held() const { return held_.size(); }

  void on_event(std::uint64_t tag) override;
  void on_first_token(RequestId id, Seconds seen) override;
  void on_request_ended(const RequestRecord& record) override;
  void on_request_lost(const RequestRecord& record) override;

 private:
  struct Member {
    Replica* replica = nullptr;
    MemberSettings settings;
    ReplicaState state = ReplicaState::serving;
    std::int64_t outstanding = 0;
    Served served;
    bool can_wake = false;                  // it has served, and has not failed since
    std::optional<Seconds> leaves_at = {};  // drained: when a part of its cache is written
    LeavingPrefixes leaving = {};
    std::uint32_t starts = 0;  // a start-up that was called off must not come true
    int failures = 0;          // that are not over
    bool starts_after_repair = false;
    bool is_given_up = false;  // as failed as it is, it will not be repaired
    ReplicaStatus seen;        // by the router, at
    Seconds seen_at{-1.0};
    std::size_t listed = 0;  // its place among candidates_, where that list is kept
  };
  struct Counted {
    FleetUsage* usage = nullptr;
    FleetPart part;
    Seconds until;
  };

  [[nodiscard]] static bool is_up(const Member& member) {
    return member.state != ReplicaState::stopped && member.state != ReplicaState::failed;
  }
  [[nodiscard]] static bool finds_gpus(const Member& member) {
    return member.settings.gpus == nullptr || member.settings.gpus->are_free(*member.replica);
  }
  /// Takes shared GPUs, or leaves them.
  static void pass_gpus(const Member& member, ReplicaState next);
  [[nodiscard]] Member& member_of(ReplicaId id);
  [[nodiscard]] std::size_t index_of(const Member& member) const {
    return static_cast<std::size_t>(&member - members_.data());
  }
  /// A status for each replica that takes requests, in order of id. Kept from one request to the
  /// next where only their numbers of requests change.
  [[nodiscard]] const std::vector<ReplicaStatus>& candidates();
  [[nodiscard]] bool is_any_serving() const;
  [[nodiscard]] bool anybody_will_serve() const;
  [[nodiscard]] std::span<const Member> members_of(FleetPart part) const;
  void set_state(Member& member, ReplicaState state);
  /// Null: nobody counts what the member does.
  [[nodiscard]] Counted* counting(const Member& member);
  void begin_start(Member& member);
  /// What the member's start takes now; counted as what it is.
  Seconds start_time(const Member& member);
  /// So many requests more that it has to end.
  void count_outstanding(Member& member, int more);
  void stop_if_drained(const Member& member);
  void leave(Member& member);
  /// Where the choice of the same call that came before is; nullptr: nowhere, or it stands alone.
  Member* has_beside(const Request& request);
  void hand_to(Member& member, const Request& request, const RequestRecord& record);
  void route(const Request& request, const RequestRecord& record,
             const std::vector<ReplicaStatus>& able);
  void end_unserved(const RequestRecord& record, RequestStatus status,
                    FailureReason reason = FailureReason::none);
  /// Ends all that is held.
  void end_held(RequestStatus status, FailureReason reason);
  /// Soon: the replica that has room may be asking.
  void arm_release();
  /// Lets those that wait go to replicas that have room.
  void release_held();
  /// Adds what was since the last change.
  void count_until_now(Counted& counted);
  void let_go(const RequestRecord& record);
  void count_served(const RequestRecord& record) {
    if (record.status != RequestStatus::completed) return;
    Served& served = member_of(record.replica).served;
    ++served.requests;
    served.prompt_tokens += static_cast<double>(record.prompt_tokens);
    served.output_tokens += static_cast<double>(record.output_tokens);
  }

  FrontEndSettings settings_;
  Platform& platform_;
  std::unique_ptr<Router> router_;
  std::optional<CacheEvents> cache_events_;  // where the router listens
  RequestListener& client_;
  std::vector<Member> members_;
  GatewayQueue held_;  // while no replica takes requests
  bool is_release_armed_ = false;
  Demand demand_;
  std::vector<ReplicaStatus> candidates_;
  bool is_list_kept_ = false;
  std::vector<Counted> counted_;
};

}  // namespace foretoken
