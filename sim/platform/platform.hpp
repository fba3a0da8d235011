// The simulated cluster: one clock, timed events and transfers, on SimGrid. The only room that
// includes SimGrid. Compute is a delay (an event at a date); data that crosses links shared with
// others is a flow whose speed SimGrid decides; collectives inside a private domain have a closed
// form (kernels/collective_cost.hpp) and are the caller's delay.
//
// A process simulates once: SimGrid's clock never resets, and a second Platform in one process is
// an InternalError.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "hardware/cluster.hpp"
#include "kernels/collective_cost.hpp"
#include "sim/base/ids.hpp"
#include "sim/base/quantity.hpp"

namespace foretoken {

/// Who is told when something is over. `tag` is what the caller gave.
class EventHandler {
 public:
  virtual ~EventHandler() = default;
  virtual void on_event(std::uint64_t tag) = 0;
};

class Platform {
 public:
  explicit Platform(const ClusterSpec& cluster);
  ~Platform();
  Platform(const Platform&) = delete;
  Platform& operator=(const Platform&) = delete;

  [[nodiscard]] Seconds now() const;

  /// Calls `handler` at `date` (not before now). Events of one date fire in the order they were
  /// asked for.
  void at(Seconds date, EventHandler& handler, std::uint64_t tag);

  /// Moves `size` from one GPU to another as a flow: latency of the route, then bytes at the rate
  /// that the links' other flows leave. Zero bytes take the latency alone; from == to, no time.
  void send(GpuId from, GpuId to, Bytes size, EventHandler& handler, std::uint64_t tag);

  /// The same, but no faster than `rate`: data that is produced while it is sent.
  void stream(GpuId from, GpuId to, Bytes size, BytesPerSecond rate, EventHandler& handler,
              std::uint64_t tag);

  /// Copies between a GPU's memory and its host's, as flows up the node's PCIe tree, where others
  /// copy too; without a tree over the GPU's own link, which takes its latency and then the bytes at
  /// its rate. The caller has one copy of a GPU and direction in progress at a time.
  enum class HostCopy { to_host, from_host };
  void copy_host(GpuId gpu, HostCopy direction, Bytes size, EventHandler& handler,
                 std::uint64_t tag);

  /// `repeats` equal collectives one after the other over `group`: for each phase one bulk flow per
  /// neighbour (or pair) after the steps' latencies. Uncontended it takes
  /// repeats * collective_time(call, group_links(cluster, group), cluster.comm).
  void collective(const CollectiveCall& call, std::span<const GpuId> group, int repeats,
                  EventHandler& handler, std::uint64_t tag);

  /// The same step by step: every step's flows start when the step before has ended. Slow; exists
  /// to validate the bulk form.
  void collective_stepwise(const CollectiveCall& call, std::span<const GpuId> group,
                           EventHandler& handler, std::uint64_t tag);

  /// Handles events until none are left or stop() was called. What a handler throws comes out of
  /// here. Neither a stop nor an exception can be undone: later runs handle nothing.
  void run();
  void stop();

  struct Counters {
    std::uint64_t events = 0;  // handler calls
    std::uint64_t flows = 0;
    std::uint64_t fingerprint = 0;  // over (date, tag) of every handler call, in order
  };
  [[nodiscard]] Counters counters() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace foretoken
