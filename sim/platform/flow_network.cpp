#include "sim/platform/flow_network.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

#include "sim/base/error.hpp"

namespace foretoken {
namespace {

constexpr double flow_size_max = 0x1p44;  // B, as SimGrid counts (sim/platform/simgrid)

[[noreturn]] void throw_not_loaded() {
  throw std::runtime_error(fmt::format(
      "cannot load SimGrid, which simulates the network: {}; reinstall libsimgrid and Foretoken",
      dlerror()));
}

/// The module's function that starts SimGrid. The module stays loaded, and keeps its symbols to
/// itself: SimGrid's are MPI's, too.
StartFlowEngine* loaded_module() {
  static StartFlowEngine* start = nullptr;
  if (start != nullptr) return start;
  void* module = dlopen(flow_engine_module, RTLD_LAZY | RTLD_LOCAL);
  if (module == nullptr) throw_not_loaded();
  start = reinterpret_cast<StartFlowEngine*>(dlsym(module, flow_engine_function));
  if (start == nullptr) throw_not_loaded();
  return start;
}

}  // namespace

FlowNetwork::FlowNetwork(FlowListener& listener) : listener_(listener) {
  static bool started = false;
  FORETOKEN_CHECK(!started, "a process simulates once: SimGrid's clock never resets; fork first");
  started = true;
}

void FlowNetwork::load() { loaded_module(); }

FlowEngine& FlowNetwork::engine() {
  if (engine_ == nullptr) {
    engine_.reset(loaded_module()(listener_));
    for (const Link& link : links_) engine_->add_link(link.name, link.bandwidth);
  }
  return *engine_;
}

LinkIndex FlowNetwork::add_link(const std::string& name, BytesPerSecond bandwidth) {
  FORETOKEN_CHECK(bandwidth.value() > 0 && std::isfinite(bandwidth.value()),
                  "link {} has bandwidth {} B/s", name, bandwidth.value());
  FORETOKEN_CHECK(engine_ == nullptr, "link {} comes after SimGrid was started", name);
  links_.push_back({name, bandwidth});
  return static_cast<LinkIndex>(links_.size() - 1);
}

void FlowNetwork::set_bandwidth(LinkIndex link, BytesPerSecond bandwidth) {
  FORETOKEN_CHECK(bandwidth.value() > 0, "a link of {} B/s", bandwidth.value());
  links_.at(link).bandwidth = bandwidth;
  if (engine_ != nullptr) engine_->set_bandwidth(link, bandwidth);
}

void FlowNetwork::start_flow(const Route& route, Bytes size, BytesPerSecond rate,
                             std::uint32_t owner) {
  FORETOKEN_CHECK(size.value() > 0 && size.value() <= flow_size_max, "a flow of {} B",
                  size.value());
  FORETOKEN_CHECK(!route.empty(), "a flow without links");
  FORETOKEN_CHECK(rate.value() > 0, "a flow of at most {} B/s", rate.value());
  engine().start_flow(route, size, rate, owner);
}

std::size_t FlowNetwork::active_flows() const {
  return engine_ == nullptr ? 0 : engine_->active_flows();
}

void FlowNetwork::wake_at(Seconds date) { engine().wake_at(date); }

Seconds FlowNetwork::clock() const { return engine_ == nullptr ? Seconds() : engine_->clock(); }

void FlowNetwork::run() {
  if (engine_ == nullptr) return;
  engine_->run();
  FORETOKEN_CHECK(active_flows() == 0, "{} flows never ended", active_flows());
}

void FlowNetwork::abandon() {
  if (engine_ != nullptr) engine_->abandon();
}

}  // namespace foretoken
