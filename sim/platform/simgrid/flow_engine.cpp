// SimGrid's side of FlowEngine, the only file that includes SimGrid (written against 3.32), and a
// library of its own that the first flow loads: Debian's SimGrid brings ns-3 along, which takes
// 23 ms to start, five times as long as all the rest of the program. No actors: flows are started
// from SimGrid's own loop (inside a timer) and report their end through its completion signal.
// Routes are ours: SimGrid asks the zone for the links between two hosts when a flow starts, and
// this zone answers with the route the flow came with. So two hosts serve any number of GPUs, no
// routing table is built, and a cluster of 1,024 GPUs stands in a few milliseconds.
#include "sim/platform/flow_engine.hpp"

#include <xbt/log.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <deque>
#include <simgrid/kernel/Timer.hpp>
#include <simgrid/kernel/routing/NetPoint.hpp>
#include <simgrid/kernel/routing/NetZoneImpl.hpp>
#include <simgrid/s4u.hpp>
#include <utility>
#include <vector>

namespace foretoken {
namespace {

namespace s4u = simgrid::s4u;
namespace routing = simgrid::kernel::routing;
using simgrid::kernel::resource::StandardLinkImpl;
using simgrid::kernel::timer::Timer;

// SimGrid takes flow sizes as whole numbers of 64 bits. Counting in 2^-20 B keeps a ring step's
// S/n exact to 1e-6 B (below 1e-17 s on any link) and leaves room for flows of 2^44 B.
constexpr double units_per_byte = 1 << 20;

// Max-min fair sharing of link bandwidth and nothing else: no share for acknowledgements, no
// penalty for long routes, no latency. Flows that end within 1e-12 s of each other end together.
// A flow's own limit travels as a TCP window: CM02 holds a flow to TCP-gamma / (2 latency), and
// latency itself takes no time at factor 0.
constexpr const char* exact_sharing[] = {
    "network/model:CM02",       "network/crosstraffic:0",     "network/weight-S:0",
    "network/latency-factor:0", "network/bandwidth-factor:1", "network/TCP-gamma:2",
    "surf/precision:1e-12",
};
// CM02 leaves a flow of latency 0 asleep. This one limits no flow: 1 / latency is its limit.
constexpr double latency_min = 1e-300;

/// Puts back the handlers of these signals, which SimGrid replaces by its own that print and exit.
class SignalsKept {
 public:
  SignalsKept() {
    for (auto& [number, action] : kept_) sigaction(number, nullptr, &action);
  }
  ~SignalsKept() {
    for (auto& [number, action] : kept_) sigaction(number, &action, nullptr);
  }

 private:
  std::pair<int, struct sigaction> kept_[3] = {{SIGINT, {}}, {SIGSEGV, {}}, {SIGBUS, {}}};
};

/// Started before any link exists: reads no command line and prints nothing.
std::unique_ptr<s4u::Engine> start_engine() {
  const SignalsKept keep;
  xbt_log_control_set("root.thres:critical");
  auto engine = std::make_unique<s4u::Engine>("foretoken");
  for (const char* option : exact_sharing) s4u::Engine::set_config(option);
  return engine;
}

class RouteZone final : public routing::NetZoneImpl {
 public:
  RouteZone() : NetZoneImpl("cluster") {}

  void get_local_route(const routing::NetPoint* /*from*/, const routing::NetPoint* /*to*/,
                       routing::Route* route, double* latency) override {
    route->link_list_.assign(next_route.begin(), next_route.end());
    if (latency != nullptr) *latency = std::max(latency_min, 1.0 / next_rate);
  }

  // What the flow that is being started asks for.
  std::vector<StandardLinkImpl*> next_route;
  double next_rate = 0;  // units/s
};

class SimGridEngine final : public FlowEngine {
 public:
  explicit SimGridEngine(FlowListener& listener)
      : listener_(listener), engine_(start_engine()), zone_(new RouteZone) {
    from_ = zone_->create_host("from", {1.0});
    to_ = zone_->create_host("to", {1.0});
    s4u::Activity::on_completion_cb([this](const s4u::Activity& activity) { flow_over(activity); });
  }

  void add_link(const std::string& name, BytesPerSecond bandwidth) override {
    links_.push_back(zone_->create_link(name, {bandwidth.value() * units_per_byte}));
  }

  void set_bandwidth(LinkIndex link, BytesPerSecond bandwidth) override {
    const double before = links_[link]->get_bandwidth();
    links_[link]->set_bandwidth(bandwidth.value() * units_per_byte);
    if (links_[link]->get_bandwidth() > before) restart_flows_on(link);
  }

  void start_flow(const Route& route, Bytes size, BytesPerSecond rate,
                  std::uint32_t owner) override {
    Flow& flow = unused_flow();
    flow.owner = owner;
    flow.route = route;
    flow.rate = rate.value() * units_per_byte;
    start(flow, std::max(1.0, std::round(size.value() * units_per_byte)));
    ++active_;
  }

  std::size_t active_flows() const override { return active_; }

  void wake_at(Seconds date) override {
    if (timer_ != nullptr && wake_date_ <= date) return;
    if (timer_ != nullptr) timer_->remove();
    wake_date_ = date;
    // The clock may stand a rounding error beyond the date that it was last asked to reach.
    timer_ = Timer::set(std::max(date.value(), s4u::Engine::get_clock()), [this] {
      timer_ = nullptr;  // SimGrid deletes it
      listener_.on_wake(wake_date_);
    });
  }

  Seconds clock() const override { return Seconds(s4u::Engine::get_clock()); }
  void run() override { engine_->run(); }

  void abandon() override {
    if (timer_ != nullptr) timer_->remove();
    timer_ = nullptr;
    if (active_ == 0) return;
    active_ = 0;
    // SimGrid lets go of a cancelled flow later in its loop, and until then needs its CommPtr.
    for (const Flow& flow : flows_)
      if (flow.comm != nullptr) flow.comm->cancel();
  }

 private:
  struct Flow {
    s4u::CommPtr comm;  // held until it is over: SimGrid's signal needs it alive
    std::uint32_t owner = 0;
    Route route;
    double rate = 0;  // units/s
  };

  void start(Flow& flow, double units) {
    zone_->next_rate = flow.rate;
    zone_->next_route.clear();
    for (const LinkIndex link : flow.route) zone_->next_route.push_back(links_[link]->get_impl());
    flow.comm = s4u::Comm::sendto_init();
    flow.comm->set_data(&flow);
    flow.comm->set_payload_size(static_cast<std::uint64_t>(units));
    flow.comm->set_source(from_);
    flow.comm->set_destination(to_);  // both ends known: it starts
  }

  /// SimGrid never lets a flow go faster than its links were when it began.
  void restart_flows_on(LinkIndex link) {
    for (Flow& flow : flows_) {
      if (flow.comm == nullptr || std::ranges::find(flow.route, link) == flow.route.end()) continue;
      const double left = std::max(1.0, std::round(flow.comm->get_remaining()));
      flow.comm->cancel();
      cancelled_.push_back(std::move(flow.comm));  // SimGrid lets go of it later in its loop
      start(flow, left);
    }
  }

  Flow& unused_flow() {
    if (unused_.empty()) return flows_.emplace_back();
    Flow* flow = unused_.back();
    unused_.pop_back();
    return *flow;
  }

  void flow_over(const s4u::Activity& activity) {
    if (activity.get_state() != s4u::Activity::State::FINISHED) return;  // abandoned
    Flow* flow = activity.get_data<Flow>();
    ended_ = std::move(flow->comm);  // SimGrid uses it once more after this call
    unused_.push_back(flow);
    --active_;
    listener_.on_flow_end(flow->owner);
  }

  FlowListener& listener_;
  std::unique_ptr<s4u::Engine> engine_;
  RouteZone* zone_;  // owned by the engine
  s4u::Host* from_ = nullptr;
  s4u::Host* to_ = nullptr;
  std::vector<s4u::Link*> links_;
  std::deque<Flow> flows_;  // stay where they are: SimGrid hands back their addresses
  std::vector<Flow*> unused_;
  s4u::CommPtr ended_;
  std::vector<s4u::CommPtr> cancelled_;
  std::size_t active_ = 0;
  Timer* timer_ = nullptr;
  Seconds wake_date_;
};

}  // namespace
}  // namespace foretoken

extern "C" [[gnu::visibility("default")]] foretoken::FlowEngine* foretoken_flow_engine_1(
    foretoken::FlowListener& listener) {
  return std::make_unique<foretoken::SimGridEngine>(listener).release();
}
