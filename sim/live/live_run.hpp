// The seam between clients that come while the run is under way and the simulation: hands requests
// in at the date of the wall clock, holds simulated time back to that clock, and hands tokens out
// when their date has come. One thread does all of it, in turn.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "sim/live/engine_metrics.hpp"
#include "sim/live/http_server.hpp"
#include "sim/run/run.hpp"
#include "sim/serving/step_observer.hpp"

namespace foretoken {

/// Who is told what becomes of a request, when the wall clock says so.
class LiveClient {
 public:
  virtual void on_tokens(std::int64_t count) = 0;
  /// Once, and the last.
  virtual void on_end(const RequestRecord& record) = 0;

 protected:
  ~LiveClient() = default;
};

class LiveRun final : public LiveTraffic, public StepObserver, public EventHandler {
 public:
  /// `speed`: simulated seconds a second; `models`: that requests may ask for. `on_begin` is called
  /// when requests can be served.
  LiveRun(double speed, std::size_t models, std::function<void()> on_begin)
      : speed_(speed), on_begin_(std::move(on_begin)), metrics_(models) {}
  /// Whose clock it is; before the run, which the server must outlive.
  void connect(HttpServer& server) { server_ = &server; }

  /// The request arrives at its date, which is now(), and gets its id. `client` must stay until it
  /// has ended or is cancelled.
  RequestId submit(Request request, LiveClient& client);
  /// Its client has gone and is not told any more.
  void cancel(RequestId id);
  /// Simulated, by the wall clock.
  [[nodiscard]] Seconds now() const { return Seconds(server_->now() * speed_); }
  [[nodiscard]] std::vector<ReplicaGauges> gauges() const { return gauges_(); }
  /// By Request::model.
  [[nodiscard]] const std::vector<EngineMetrics>& metrics() const { return metrics_; }
  /// By how much tokens were late on the wall clock, s.
  [[nodiscard]] const LatencyHistogram& lateness() const { return lateness_; }

  // LiveTraffic
  void begin(Platform& platform, FrontEnd& front_end,
             std::function<std::vector<ReplicaGauges>()> gauges) override;
  std::optional<Request> next() override;
  Seconds hold(Seconds date, bool has_flows) override;
  // StepObserver
  void on_step(ReplicaId, int, Seconds, Seconds, const Batch&) override {}
  void on_tokens(RequestId id, std::int64_t count, Seconds date) override;
  void on_request_ended(const RequestRecord& record) override;
  // EventHandler: deliveries are due
  void on_event(std::uint64_t tag) override;

 private:
  struct Client {
    LiveClient* client = nullptr;
    std::size_t model = 0;
    Seconds last_token{-1.0};
  };
  struct Delivery {
    RequestId id;
    std::int64_t tokens = 0;
    std::optional<RequestRecord> end = std::nullopt;
  };

  void deliver_at(Seconds date, Delivery delivery);
  void deliver(Seconds date, const Delivery& delivery);

  double speed_;
  std::function<void()> on_begin_;
  HttpServer* server_ = nullptr;
  Platform* platform_ = nullptr;
  FrontEnd* front_end_ = nullptr;
  std::function<std::vector<ReplicaGauges>()> gauges_;
  bool is_stopped_ = false;
  std::uint32_t next_id_ = 0;
  std::deque<Request> arrived_;                        // and not yet taken by the front end
  std::unordered_map<std::uint32_t, Client> clients_;  // by request; never walked
  std::map<Seconds, std::vector<Delivery>> due_;
  std::vector<EngineMetrics> metrics_;
  LatencyHistogram lateness_;
};

}  // namespace foretoken
