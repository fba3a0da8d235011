// Two clocks that agree: the event heap decides what comes next, SimGrid decides when flows end.
// While no flow is active nothing in SimGrid can happen, so events are handled one after the other
// without asking it; its clock is brought up before a flow starts. While flows are active, SimGrid
// is asked to wake us at the heap's next date and handles what ends before. Handlers are called
// from the heap only, so every call has a place in (date, sequence).
#include "sim/platform/platform.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <exception>
#include <limits>
#include <map>
#include <utility>

#include "sim/base/error.hpp"
#include "sim/base/fingerprint.hpp"
#include "sim/platform/collective_plan.hpp"
#include "sim/platform/event_heap.hpp"
#include "sim/platform/stage_routes.hpp"
#include "sim/platform/transfers.hpp"

namespace foretoken {

class Platform::Impl final : FlowListener, EventHandler {
 public:
  Impl(const ClusterSpec& cluster, Leasing leasing)
      : network_(*this),
        topology_(cluster, network_),
        transfers_(topology_.wiring(), network_, heap_, *this),
        leasing_(leasing) {}

  Seconds now() const { return now_; }

  void at(Seconds date, EventHandler& handler, std::uint64_t tag) {
    FORETOKEN_CHECK(date >= now_ && std::isfinite(date.value()), "an event at {} s, now is {} s",
                    date.value(), now_.value());
    heap_.push(date, handler, tag);
  }

  void send(GpuId from, GpuId to, Bytes size, BytesPerSecond rate_max, Caller caller) {
    if (from == to) return at(now_, *caller.handler, caller.tag);
    const std::array pair = {from, to};
    transfer({.op = CollectiveOp::send_recv, .size = size}, pair, 1, Pace::bulk, caller, rate_max);
  }

  void copy_host(GpuId gpu, HostCopy direction, Bytes size, Caller caller) {
    const ClusterSpec& cluster = topology_.cluster();
    const NodeSpec& node = cluster.node_at(cluster.node_of(gpu));
    const Wiring& wiring = topology_.wiring();
    const Route route =
        direction == HostCopy::to_host ? wiring.route_to_host(gpu) : wiring.route_from_host(gpu);
    if (size <= Bytes(0.0)) return at(now_, *caller.handler, caller.tag);
    if (route.empty()) {
      const BytesPerSecond rate = node.host_link_bandwidth * node.host_link_efficiency;
      return at(now_ + node.host_link_latency + size / rate, *caller.handler, caller.tag);
    }
    BytesPerSecond rate = wiring.capacity(route.front());
    for (const LinkIndex link : route) rate = std::min(rate, wiring.capacity(link));
    const Round round{node.host_link_latency, {{route, size, rate}}};
    transfers_.begin({Course({Section{{round}}}), caller}, now_);
  }

  static constexpr Seconds never{std::numeric_limits<double>::infinity()};
  static constexpr BytesPerSecond unlimited{std::numeric_limits<double>::infinity()};

  /// No phase moves its bytes faster than `rate_max`.
  void transfer(const CollectiveCall& call, std::span<const GpuId> group, int repeats, Pace pace,
                Caller caller, BytesPerSecond rate_max = unlimited) {
    FORETOKEN_CHECK(repeats >= 0, "{} repeats of a collective", repeats);
    std::vector<Section> sections;
    Seconds latencies;
    for (PlannedPhase& phase : plan_collective(topology_.wiring(), call, links_of(group), group)) {
      latencies += phase.latency * repeats;
      if (rate_max < unlimited) hold_to(rate_max, phase);
      if (!phase.flows.empty() && repeats > 0)
        sections.push_back(section_of(std::move(phase), repeats, pace));
    }
    if (sections.empty()) return at(now_ + latencies, *caller.handler, caller.tag);
    Transfer transfer{Course(std::move(sections)), caller};
    if (leasing_ == Leasing::on && pace == Pace::bulk && links_of(group).nodes > 1 &&
        call.op != CollectiveOp::send_recv && !topology_.wiring().has_detours_between()) {
      transfer.own_links = transfer.course.links();
      transfer.leasable = transfer.own_links;
    }
    transfers_.begin(std::move(transfer), now_);
  }

  std::size_t add_stage(std::span<const GpuId> gpus, const CommGroupSizes& groups) {
    routes_.emplace_back(topology_.wiring(), gpus, groups);
    stages_.push_back(&routes_.back());
    return stages_.size() - 1;
  }

  void step(std::size_t stage, std::span<const StepRounds> rounds, Caller caller) {
    StageRoutes& routes = *stages_.at(stage);
    std::span<const LinkIndex> leasable;
    // Traffic that goes round what is down may crowd links by itself, which a lease does not see.
    if (leasing_ == Leasing::on && !topology_.wiring().has_detours_inside())
      leasable = routes.links();
    transfers_.begin({routes.course_of(rounds), caller, leasable}, now_);
  }

  void set_link_share(LinkIndex link, double share) { transfers_.set_share(link, share); }
  void set_nic(int node, int nic, bool is_up) { topology_.set_nic(node, nic, is_up); }
  void set_links(std::span<const LinkIndex> links, bool are_up) {
    for (const LinkIndex link : links) topology_.set_link(link, are_up);
    // Steps in progress keep their routes.
    for (StageRoutes*& stage : stages_) stage = &routes_.emplace_back(stage->anew());
  }
  void watch_links(LinkObserver* observer) { transfers_.watch(observer); }

  void run() {
    FORETOKEN_CHECK(!running_, "run() called from a handler");
    running_ = true;
    advance();
    network_.run();
    running_ = false;
    if (failure_ != nullptr) std::rethrow_exception(std::exchange(failure_, nullptr));
    FORETOKEN_CHECK(stopped_ || heap_.empty(), "time ended at {} s before the last event",
                    now_.value());
  }

  void stop() { stopped_ = true; }
  void keep_to(Pacer& pacer) { pacer_ = &pacer; }

  Counters counters() const { return {events_, transfers_.flows(), fingerprint_.value()}; }

  Traffic traffic() const {
    Traffic traffic{
        transfers_.flows(), transfers_.step_transfers(), transfers_.step_transfers_as_flows(), {}};
    const Wiring& wiring = topology_.wiring();
    for (LinkIndex link = 0; link < wiring.link_count(); ++link) {
      const Seconds beyond = transfers_.use().charged(link);
      if (beyond > Seconds(0)) traffic.crowded.push_back({link, wiring.name(link), beyond});
    }
    std::ranges::stable_sort(traffic.crowded, std::ranges::greater(), &Traffic::Crowded::beyond);
    return traffic;
  }

 private:
  /// Groups come again and again; working their links out takes longer than a transfer.
  const GroupLinks& links_of(std::span<const GpuId> group) {
    const auto [known, is_new] = links_of_.try_emplace({group.begin(), group.end()});
    if (is_new) known->second = group_links(topology_.cluster(), group);
    return known->second;
  }

  /// Of transfers: an event of our own, which is not counted.
  void on_event(std::uint64_t tag) override { transfers_.on_time(tag, now_); }

  void on_flow_end(std::uint32_t owner) noexcept override {
    now_ = std::max(now_, network_.clock());
    transfers_.on_flow_end(owner, now_);
    if (transfers_.any_ready()) return network_.wake_at(now_);
    if (!heap_.empty()) network_.wake_at(heap_.next_date());
  }

  void on_wake(Seconds date) noexcept override {
    now_ = std::max(now_, date);
    advance();
  }

  /// Handles events until SimGrid has to be asked what comes first, or none are left.
  void advance() noexcept {
    try {
      while (handle_now() && skip_ahead()) {
      }
    } catch (...) {
      failure_ = std::current_exception();
      stopped_ = true;
    }
    if (stopped_) network_.abandon();
  }

  /// Handles the events of now and starts the flows they asked for; false: cannot go on from here.
  bool handle_now() {
    while (!stopped_ && !heap_.empty() && heap_.next_date() <= now_) call(heap_.pop());
    if (stopped_) return false;
    if (!transfers_.any_ready()) return true;
    if (network_.clock() < now_) {
      network_.wake_at(now_);
      return false;
    }
    transfers_.start(now_);
    return true;
  }

  /// Moves on to the next event's date if no flow can end before; false: SimGrid will wake us.
  bool skip_ahead() {
    if (pacer_ != nullptr) return keep_pace();
    const bool has_flows = network_.active_flows() > 0;
    if (heap_.empty()) {
      if (has_flows && network_.clock() < now_) network_.wake_at(now_);
      return false;
    }
    if (has_flows) {
      network_.wake_at(heap_.next_date());
      return false;
    }
    now_ = heap_.next_date();
    return true;
  }

  /// The same as far as the pacer lets it.
  bool keep_pace() {
    const bool has_flows = network_.active_flows() > 0;
    const Seconds next = heap_.empty() ? never : heap_.next_date();
    Seconds reached = pacer_->hold(next, has_flows);
    if (!heap_.empty()) reached = std::min(reached, heap_.next_date());
    reached = std::max(reached, now_);
    if (!has_flows || stopped_) {
      now_ = reached;
      return true;
    }
    network_.wake_at(reached);
    return false;
  }

  void call(const Event& event) {
    if (event.handler == this) return on_event(event.tag);
    ++events_;
    fingerprint_.add(now_.value()).add(event.tag);
    event.handler->on_event(event.tag);
  }

  FlowNetwork network_;
  ClusterTopology topology_;
  EventHeap heap_;
  Transfers transfers_;
  Leasing leasing_;
  std::deque<StageRoutes> routes_;    // stay where they are: transfers look at their links
  std::vector<StageRoutes*> stages_;  // by number, as they are routed now
  std::map<std::vector<GpuId>, GroupLinks> links_of_;
  Seconds now_;
  Pacer* pacer_ = nullptr;
  bool running_ = false;
  bool stopped_ = false;
  std::exception_ptr failure_;
  std::uint64_t events_ = 0;
  Fingerprint fingerprint_;
};

Platform::Platform(const ClusterSpec& cluster, Leasing leasing)
    : impl_(std::make_unique<Impl>(cluster, leasing)) {}
Platform::~Platform() = default;

Seconds Platform::now() const { return impl_->now(); }

void Platform::at(Seconds date, EventHandler& handler, std::uint64_t tag) {
  impl_->at(date, handler, tag);
}

void Platform::send(GpuId from, GpuId to, Bytes size, EventHandler& handler, std::uint64_t tag) {
  stream(from, to, size, Impl::unlimited, handler, tag);
}

void Platform::stream(GpuId from, GpuId to, Bytes size, BytesPerSecond rate, EventHandler& handler,
                      std::uint64_t tag) {
  impl_->send(from, to, size, rate, {&handler, tag});
}

void Platform::copy_host(GpuId gpu, HostCopy direction, Bytes size, EventHandler& handler,
                         std::uint64_t tag) {
  impl_->copy_host(gpu, direction, size, {&handler, tag});
}

void Platform::collective(const CollectiveCall& call, std::span<const GpuId> group, int repeats,
                          EventHandler& handler, std::uint64_t tag) {
  impl_->transfer(call, group, repeats, Pace::bulk, {&handler, tag});
}

void Platform::collective_stepwise(const CollectiveCall& call, std::span<const GpuId> group,
                                   EventHandler& handler, std::uint64_t tag) {
  impl_->transfer(call, group, 1, Pace::stepwise, {&handler, tag});
}

std::size_t Platform::add_stage(std::span<const GpuId> gpus, const CommGroupSizes& groups) {
  return impl_->add_stage(gpus, groups);
}

void Platform::step(std::size_t stage, std::span<const StepRounds> rounds, EventHandler& handler,
                    std::uint64_t tag) {
  impl_->step(stage, rounds, {&handler, tag});
}

void Platform::set_link_share(LinkIndex link, double share) { impl_->set_link_share(link, share); }
void Platform::set_nic(int node, int nic, bool is_up) { impl_->set_nic(node, nic, is_up); }
void Platform::set_links(std::span<const LinkIndex> links, bool are_up) {
  impl_->set_links(links, are_up);
}
void Platform::watch_links(LinkObserver* observer) { impl_->watch_links(observer); }
void Platform::keep_to(Pacer& pacer) { impl_->keep_to(pacer); }
void Platform::run() { impl_->run(); }
void Platform::stop() { impl_->stop(); }
Platform::Counters Platform::counters() const { return impl_->counters(); }
Platform::Traffic Platform::traffic() const { return impl_->traffic(); }

}  // namespace foretoken
