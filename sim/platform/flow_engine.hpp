// What FlowNetwork asks of the library that carries flows. That is SimGrid, in a module that
// sim/platform/simgrid builds and the first flow loads; this interface is all that the two share,
// so the module has nothing of ours in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "hardware/route.hpp"
#include "sim/base/quantity.hpp"

namespace foretoken {

/// Called from inside SimGrid's loop, so neither may throw.
class FlowListener {
 public:
  virtual ~FlowListener() = default;
  /// The clock has reached the date given to wake_at().
  virtual void on_wake(Seconds date) noexcept = 0;
  virtual void on_flow_end(std::uint32_t owner) noexcept = 0;
};

/// FlowNetwork's contract with arguments that it has checked. Links are numbered as they are added.
class FlowEngine {
 public:
  virtual ~FlowEngine() = default;
  virtual void add_link(const std::string& name, BytesPerSecond bandwidth) = 0;
  virtual void set_bandwidth(LinkIndex link, BytesPerSecond bandwidth) = 0;
  virtual void start_flow(const Route& route, Bytes size, BytesPerSecond rate,
                          std::uint32_t owner) = 0;
  [[nodiscard]] virtual std::size_t active_flows() const = 0;
  virtual void wake_at(Seconds date) = 0;
  [[nodiscard]] virtual Seconds clock() const = 0;
  virtual void run() = 0;
  virtual void abandon() = 0;
};

/// The module's file, and its function that starts SimGrid. The number changes with FlowEngine, so
/// that a module of another version is refused and not called.
inline constexpr const char* flow_engine_module = "libforetoken_simgrid.so";
inline constexpr const char* flow_engine_function = "foretoken_flow_engine_1";
using StartFlowEngine = FlowEngine*(FlowListener&);

}  // namespace foretoken
