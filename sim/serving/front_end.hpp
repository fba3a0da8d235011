// Where requests enter and leave: takes them from the source as they arrive, hands them to the pool
// that serves them, sends those that a failure lost again, gives up those whose clients do, and
// ends each exactly once: in the timeline, and for the source (closed loops and sessions wait for
// that). It keeps the clients' time: what a pool has computed ends when the client has it, so that
// deadlines, the end of the run and the next request go by that. Who serves what is the pool's
// business.
#pragma once

#include <functional>
#include <optional>
#include <unordered_map>

#include "sim/metrics/slo.hpp"
#include "sim/metrics/timeline.hpp"
#include "sim/platform/platform.hpp"
#include "sim/serving/pool.hpp"
#include "sim/serving/settings/front_end_settings.hpp"
#include "sim/serving/tenant_limits.hpp"

namespace foretoken {

class FrontEnd final : public EventHandler, public RequestListener {
 public:
  /// Requests that may be open at once, some 1.5 GB of them: a small file of a trace can hold more.
  static constexpr std::size_t open_max = 2'000'000;

  /// References must outlive the front end. `on_end`, if given, is called after each request. A run
  /// of more than `most_open` open requests is a ConfigError.
  FrontEnd(Platform& platform, RequestSource& source, Timeline& timeline,
           const FrontEndSettings& settings = {}, std::function<void()> on_end = {},
           std::size_t most_open = open_max);

  /// `on_late` is told, once a request and as soon as it is certain, of those that will not meet
  /// `limits`: whoever gives up a run that cannot hold need not wait for them to end. Before
  /// start().
  void watch(const SloTargets& limits, std::function<void(const RequestRecord&)> on_late);
  /// Tenants beyond these are rejected as they come. Before start().
  void limit(TenantLimits limits) { tenant_limits_ = std::move(limits); }
  /// Whom requests are handed to; once, before start().
  void connect(Pool& pool) { pool_ = &pool; }
  /// Arms the first arrival.
  void start();
  /// Live traffic: next() has a request again; its date must not lie before now.
  void look_again() { arm_next_arrival(); }
  /// The client of a request that next() has given goes away at `date`; no effect if that is over.
  void cancel(RequestId id, Seconds date);
  /// After the run: what has not ended is unfinished.
  void close();

  [[nodiscard]] std::int64_t arrived() const { return arrived_; }
  [[nodiscard]] std::int64_t ended() const { return ended_; }

  void on_event(std::uint64_t tag) override;
  void on_first_token(RequestId id, Seconds seen) override;
  void on_request_ended(const RequestRecord& record) override;
  void on_request_lost(const RequestRecord& record) override;

 private:
  enum class EventKind : std::uint64_t {
    arrived,
    followed_up,
    retried,
    timed_out,
    first_token_due,
    cancelled,
    first_token_late,
    late,
    answered
  };
  struct Open {
    Request request;
    RequestRecord record;                // as of the last loss, or as the pool ended it
    std::optional<Seconds> first_token;  // when the client sees it
    bool is_in_pool = false;
    bool is_late = false;
  };

  [[nodiscard]] static std::uint64_t tag(EventKind kind, RequestId id);
  void arm_next_arrival();
  void arm_follow_ups();
  void accept(Request request);
  void arm_deadlines(const Request& request);
  void hand_on(Open& open);
  /// `limit` after `from`, or never if there is none, the request is late.
  void arm_late(Seconds from, const std::optional<Seconds>& limit, EventKind kind, RequestId id);
  void tell_late(Open& open);
  /// Its client does not want it any more.
  void give_up(Open& open, RequestStatus status);
  /// Nobody works on it, and it has no whole answer.
  void end_unanswered(RequestRecord record, RequestStatus status);
  void end(const RequestRecord& record);

  Platform& platform_;
  RequestSource& source_;
  Timeline& timeline_;
  FrontEndSettings settings_;
  std::function<void()> on_end_;
  std::size_t most_open_;
  SloTargets limits_;
  TenantLimits tenant_limits_;
  std::function<void(const RequestRecord&)> on_late_;
  Pool* pool_ = nullptr;
  std::optional<Request> pending_;                         // its arrival event is armed
  std::unordered_map<std::uint32_t, Request> follow_ups_;  // armed too; by id, never walked
  std::unordered_map<std::uint32_t, Open> open_;           // by id; never walked into a result
  std::int64_t arrived_ = 0, ended_ = 0;
  bool is_closed_ = false;
};

}  // namespace foretoken
