// SimGrid, as this room uses it: a clock that can be asked to wake us at a date, links, and flows
// that share the links' bandwidth max-min fairly. Latency is not SimGrid's business here (CM02
// would favour short routes); callers add it as a delay. Nothing above this file includes SimGrid.
#pragma once

#include <cstdint>
#include <memory>
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

class FlowNetwork {
 public:
  /// Starts SimGrid. Once in a process; a second time is an InternalError.
  explicit FlowNetwork(FlowListener& listener);
  ~FlowNetwork();
  FlowNetwork(const FlowNetwork&) = delete;
  FlowNetwork& operator=(const FlowNetwork&) = delete;

  /// Before the first run().
  LinkIndex add_link(const std::string& name, BytesPerSecond bandwidth);

  /// From SimGrid's clock on; flows on the link are shared out anew.
  void set_bandwidth(LinkIndex link, BytesPerSecond bandwidth);

  /// Starts moving `size` (above 0, up to 2^44 B) over `route` (not empty) at SimGrid's clock, no
  /// faster than `rate`. A link that is n times in the route carries n times the bytes.
  void start_flow(const Route& route, Bytes size, BytesPerSecond rate, std::uint32_t owner);
  [[nodiscard]] std::size_t active_flows() const;

  /// Asks for on_wake(date). One date is kept: an earlier one replaces it, a later one is ignored.
  void wake_at(Seconds date);

  /// SimGrid's clock. It stands still while no wake-up and no flow's end is due.
  [[nodiscard]] Seconds clock() const;

  /// Lets time pass until nothing is due: no flow active and no wake-up asked for.
  void run();
  /// Abandons the flows and the wake-up, so that run() comes back without another call.
  void abandon();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace foretoken
