// Two clocks that agree: the event heap decides what comes next, SimGrid decides when flows end.
// While no flow is active nothing in SimGrid can happen, so events are handled one after the other
// without asking it (its clock is brought up before a flow starts and when the run ends). While
// flows are active, SimGrid is asked to wake us at the heap's next date and handles what ends
// before. Handlers are called from the heap only, so every call has a place in (date, sequence).
#include "sim/platform/platform.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <exception>
#include <limits>
#include <map>
#include <utility>

#include "sim/base/error.hpp"
#include "sim/base/fingerprint.hpp"
#include "sim/platform/collective_plan.hpp"
#include "sim/platform/event_heap.hpp"
#include "sim/platform/transfers.hpp"

namespace foretoken {

class Platform::Impl final : FlowListener, EventHandler {
 public:
  explicit Impl(const ClusterSpec& cluster) : network_(*this), topology_(cluster, network_) {}

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
    Transfer transfer{{}, caller};
    TransferRounds& round = transfer.rounds.emplace_back();
    round.latency = node.host_link_latency;
    round.flows.push_back({route, size, rate});
    begin_round(transfers_.add(std::move(transfer)));
  }

  enum class Pace { bulk, stepwise };
  static constexpr BytesPerSecond unlimited{std::numeric_limits<double>::infinity()};

  /// No phase moves its bytes faster than `rate_max`.
  void transfer(const CollectiveCall& call, std::span<const GpuId> group, int repeats, Pace pace,
                Caller caller, BytesPerSecond rate_max = unlimited) {
    FORETOKEN_CHECK(repeats >= 0, "{} repeats of a collective", repeats);
    Transfer transfer{{}, caller};
    Seconds latencies;
    for (PlannedPhase& phase : plan_collective(topology_.wiring(), call, links_of(group), group)) {
      latencies += phase.latency * repeats;
      if (rate_max < unlimited) hold_to(rate_max, phase);
      if (!phase.flows.empty() && repeats > 0)
        transfer.rounds.push_back(rounds_of(std::move(phase), repeats, pace));
    }
    if (transfer.rounds.empty()) return at(now_ + latencies, *caller.handler, caller.tag);
    begin_round(transfers_.add(std::move(transfer)));
  }

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

  Counters counters() const { return {events_, flows_, fingerprint_.value()}; }

 private:
  /// Groups come again and again; working their links out takes longer than a transfer.
  const GroupLinks& links_of(std::span<const GpuId> group) {
    const auto [known, is_new] = links_of_.try_emplace({group.begin(), group.end()});
    if (is_new) known->second = group_links(topology_.cluster(), group);
    return known->second;
  }

  static void hold_to(BytesPerSecond rate, PlannedPhase& phase) {
    Bytes sum;
    for (const PlannedFlow& flow : phase.flows) sum += flow.size;
    for (PlannedFlow& flow : phase.flows)
      flow.rate = std::min(flow.rate, rate * (flow.size / sum));
  }

  static TransferRounds rounds_of(PlannedPhase phase, int repeats, Pace pace) {
    if (pace == Pace::bulk) {
      for (PlannedFlow& flow : phase.flows) flow.size *= repeats;
      return {std::move(phase.flows), phase.latency * repeats, 1};
    }
    for (PlannedFlow& flow : phase.flows) flow.size = flow.size / phase.steps;
    return {std::move(phase.flows), phase.latency / phase.steps, phase.steps};
  }

  void begin_round(std::uint32_t transfer) {
    // The latency of the round, then its flows: an event of our own, which is not counted.
    heap_.push(now_ + transfers_.round(transfer).latency, *this, transfer);
  }

  /// A round's latency is over.
  void on_event(std::uint64_t tag) override {
    transfers_.make_ready(static_cast<std::uint32_t>(tag));
  }

  void on_flow_end(std::uint32_t owner) noexcept override {
    now_ = std::max(now_, network_.clock());
    switch (transfers_.end_flow(owner)) {
      case Transfers::Progress::round_running:
        return;
      case Transfers::Progress::round_over:
        begin_round(owner);
        break;
      case Transfers::Progress::all_over: {
        const Caller caller = transfers_.remove(owner);
        heap_.push(now_, *caller.handler, caller.tag);
        break;
      }
    }
    network_.wake_at(heap_.next_date());
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
    flows_ += transfers_.start_ready(network_);
    return true;
  }

  /// Moves on to the next event's date if no flow can end before; false: SimGrid will wake us.
  bool skip_ahead() {
    if (heap_.empty()) {
      if (network_.clock() < now_) network_.wake_at(now_);
      return false;
    }
    if (network_.active_flows() > 0) {
      network_.wake_at(heap_.next_date());
      return false;
    }
    now_ = heap_.next_date();
    return true;
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
  std::map<std::vector<GpuId>, GroupLinks> links_of_;
  Seconds now_;
  bool running_ = false;
  bool stopped_ = false;
  std::exception_ptr failure_;
  std::uint64_t events_ = 0;
  std::uint64_t flows_ = 0;
  Fingerprint fingerprint_;
};

Platform::Platform(const ClusterSpec& cluster) : impl_(std::make_unique<Impl>(cluster)) {}
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
  impl_->transfer(call, group, repeats, Impl::Pace::bulk, {&handler, tag});
}

void Platform::collective_stepwise(const CollectiveCall& call, std::span<const GpuId> group,
                                   EventHandler& handler, std::uint64_t tag) {
  impl_->transfer(call, group, 1, Impl::Pace::stepwise, {&handler, tag});
}

void Platform::run() { impl_->run(); }
void Platform::stop() { impl_->stop(); }
Platform::Counters Platform::counters() const { return impl_->counters(); }

}  // namespace foretoken
