// SimGrid, as this room uses it: a clock that can be asked to wake us at a date, links, and flows
// that share the links' bandwidth max-min fairly. Latency is not SimGrid's business here (CM02
// would favour short routes); callers add it as a delay. SimGrid is loaded and started when the
// first flow is near: most runs have none, and it takes longer to start than many of them to run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/platform/flow_engine.hpp"

namespace foretoken {

class FlowNetwork {
 public:
  /// Once in a process; a second time is an InternalError.
  explicit FlowNetwork(FlowListener& listener);

  /// Before the first flow and the first wake-up.
  LinkIndex add_link(const std::string& name, BytesPerSecond bandwidth);

  /// From SimGrid's clock on; flows on the link are shared out anew.
  void set_bandwidth(LinkIndex link, BytesPerSecond bandwidth);

  /// Starts moving `size` (above 0, up to 2^44 B) over `route` (not empty) at SimGrid's clock, no
  /// faster than `rate`. A link that is n times in the route carries n times the bytes.
  /// std::runtime_error if SimGrid cannot be loaded; so does wake_at().
  void start_flow(const Route& route, Bytes size, BytesPerSecond rate, std::uint32_t owner);
  [[nodiscard]] std::size_t active_flows() const;

  /// Asks for on_wake(date). One date is kept: an earlier one replaces it, a later one is ignored.
  void wake_at(Seconds date);

  /// SimGrid's clock, 0 before it is started. It stands still while no wake-up and no flow's end is
  /// due.
  [[nodiscard]] Seconds clock() const;

  /// Lets time pass until nothing is due: no flow active and no wake-up asked for.
  void run();
  /// Abandons the flows and the wake-up, so that run() comes back without another call.
  void abandon();

  /// Loads SimGrid, if it is not yet: before children are forked that will all need it.
  static void load();

 private:
  struct Link {
    std::string name;
    BytesPerSecond bandwidth;
  };

  FlowEngine& engine();

  FlowListener& listener_;
  std::vector<Link> links_;
  std::unique_ptr<FlowEngine> engine_;  // once SimGrid is started
};

}  // namespace foretoken
