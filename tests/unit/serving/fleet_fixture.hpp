// A front end, a fleet of one-GPU replicas and a clock, with every launch at 1 ms: steps of known
// length, so that dates follow by hand. A process simulates once: one run a test.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <vector>

#include "sim/base/toml.hpp"
#include "sim/serving/fleet.hpp"
#include "sim/serving/front_end.hpp"

namespace foretoken {

class LaunchPrice final : public Predictor {
 public:
  [[nodiscard]] Prediction predict(const Kernel&, const GpuSpec&) const override {
    return {Seconds(1e-3), Bound::dram, Origin::analytic};
  }
};

/// Requests given as a list, in order of arrival.
class RequestList final : public RequestSource {
 public:
  std::optional<Request> next() override {
    if (next_ == requests.size()) return std::nullopt;
    return requests[next_++];
  }
  void on_finished(RequestId id, Seconds now) override { finished.emplace_back(id, now); }

  std::vector<Request> requests;
  std::vector<std::pair<RequestId, Seconds>> finished;

 private:
  std::size_t next_ = 0;
};

/// Does something at a date.
class Occasion final : public EventHandler {
 public:
  explicit Occasion(std::function<void()> action) : action_(std::move(action)) {}
  void on_event(std::uint64_t /*tag*/) override { action_(); }

 private:
  std::function<void()> action_;
};

/// Of a fleet and all its members.
struct TestedFleet {
  Seconds startup = {}, status_interval = {};
  std::int64_t outstanding_max = 0;
  bool is_scaled = false;
  std::optional<Seconds> startup_from_peer = {}, wake = {};
};

class FleetTest : public ::testing::Test {
 protected:
  /// As many steps as `count`.
  [[nodiscard]] double steps(double count) const { return count * step_s; }

  Request& add(double arrival_steps, std::int64_t prompt, std::int64_t output) {
    Request& request = source.requests.emplace_back();
    request.id = {static_cast<std::uint32_t>(source.requests.size() - 1)};
    request.arrival = Seconds(steps(arrival_steps));
    request.prompt_tokens = prompt;
    request.output_tokens = output;
    return request;
  }

  /// Builds everything with `count` replicas in `state`.
  void build(int count, TestedFleet settings = {}, FrontEndSettings front = {.attempts_max = 1},
             const char* router = "round_robin", ReplicaState state = ReplicaState::serving) {
    Diagnostics diagnostics;
    TableReader options(empty, diagnostics, "");
    build(count, settings, front, router_catalog().find(router, {}).make(options, RandomStreams(1)),
          state);
  }

  void build(int count, TestedFleet settings, FrontEndSettings front,
             std::unique_ptr<Router> router, ReplicaState state = ReplicaState::serving) {
    platform = std::make_unique<Platform>(usual_cluster(gpu, count));
    front_end = std::make_unique<FrontEnd>(*platform, source, timeline, front, nullptr, most_open);
    front.status_interval = settings.status_interval;
    front.outstanding_max = settings.outstanding_max;
    fleet = std::make_unique<Fleet>(front, *platform, std::move(router), *front_end);
    front_end->connect(*fleet);
    for (int i = 0; i < count; ++i) {
      ReplicaConfig config;
      config.id = {static_cast<std::uint32_t>(i)};
      config.stage_gpus = {{GpuId{static_cast<std::uint32_t>(i)}}};
      config.pricers = {&pricer};
      config.send_links = {GroupLinks{}};
      config.context_max = 2000;
      config.host = host;
      replicas.push_back(std::make_unique<Replica>(
          config, *platform, [this] { return start_engines(); }, timeline, *fleet, nullptr));
      fleet->add(*replicas.back(),
                 {settings.startup, settings.startup_from_peer, settings.wake, settings.is_scaled},
                 state);
    }
  }

  AttentionRanks start_engines() {
    Diagnostics diagnostics;
    TableReader options(empty, diagnostics, "");
    auto cache = std::make_unique<KvCache>(blocks, 16, true);
    auto scheduler = scheduler_catalog().find("vllm_v1", {}).make(options, limits, *cache);
    AttentionRanks ranks;
    ranks.add(std::move(cache), std::move(scheduler));
    return ranks;
  }

  void at(double when_steps, std::function<void()> action) {
    occasions.push_back(std::make_unique<Occasion>(std::move(action)));
    platform->at(Seconds(steps(when_steps)), *occasions.back(), 0);
  }

  void run() {
    front_end->start();
    platform->run();
    front_end->close();
    ASSERT_EQ(timeline.requests().size(), source.requests.size());
  }

  [[nodiscard]] const RequestRecord& record(std::uint32_t id) const {
    const auto found = std::ranges::find(timeline.requests(), RequestId{id}, &RequestRecord::id);
    EXPECT_NE(found, timeline.requests().end());
    return *found;
  }
  [[nodiscard]] FleetPart all() const { return {0, fleet->size()}; }
  [[nodiscard]] double tokens_sent() const {
    double sum = 0;
    for (const LoadCurve::Bucket& bucket : timeline.load().buckets()) sum += bucket.output_tokens;
    return sum;
  }

  Transformer model = load_model("qwen3-0.6b", {});
  GpuSpec gpu = load_gpu("h200-sxm", {});
  MemoPredictor predictor{std::make_unique<LaunchPrice>(), gpu};
  CommSettings comm;
  StagePricer pricer{model, {}, {}, 0, GroupLinks{}, comm, predictor};
  const double step_s = 1e-3 * launches();
  const Value empty;
  std::int64_t blocks = 100;
  std::size_t most_open = FrontEnd::open_max;
  SchedulerLimits limits;
  HostSettings host;
  RequestList source;
  Timeline timeline{Seconds(0.0)};
  std::unique_ptr<Platform> platform;
  std::unique_ptr<FrontEnd> front_end;
  std::unique_ptr<Fleet> fleet;
  std::vector<std::unique_ptr<Replica>> replicas;
  std::vector<std::unique_ptr<Occasion>> occasions;

 private:
  [[nodiscard]] int launches() const {
    BatchShape shape;
    shape.tokens = shape.logit_rows = 1;
    int calls = 0;
    for (const KernelCall& call : generate(model, {}, {}, shape, 0)) calls += call.calls;
    return calls;
  }
};

}  // namespace foretoken
