// The simulated cluster: one clock, timed events and transfers, on SimGrid. The only room that
// includes SimGrid. Compute is a delay (an event at a date); data that crosses links shared with
// others is a flow whose speed SimGrid decides; collectives inside a private domain have a closed
// form (kernels/communication/collective_cost.hpp) and are the caller's delay.
//
// A process simulates once: SimGrid's clock never resets, and a second Platform in one process is
// an InternalError.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "hardware/cluster.hpp"
#include "hardware/route.hpp"
#include "kernels/communication/collective_cost.hpp"
#include "kernels/communication/comm_groups.hpp"
#include "sim/base/ids.hpp"
#include "sim/base/quantity.hpp"

namespace foretoken {

/// Who is told when something is over. `tag` is what the caller gave.
class EventHandler {
 public:
  virtual ~EventHandler() = default;
  virtual void on_event(std::uint64_t tag) = 0;
};

/// Sees what has happened on links, and never decides.
class LinkObserver {
 public:
  virtual ~LinkObserver() = default;
  /// A flow of `size` over all links of `route` at once.
  virtual void on_flow(std::span<const LinkIndex> route, Bytes size, Seconds start,
                       Seconds end) = 0;
};

/// A part of a step: first computation, then what a group of the stage moves; no bytes: nothing.
struct StepPart {
  Seconds compute;
  CollectivePhase traffic = {};
  CommGroup group = CommGroup::tensor_parallel;
};
/// `repeats` times (at least once) the same parts.
struct StepRounds {
  std::vector<StepPart> parts;
  std::int64_t repeats = 1;
};

/// Whether a step's transfers are carried without flows while nobody else is on their links. The
/// dates are the same.
enum class Leasing { off, on };

/// Another clock that simulated time keeps to: requests that come while the run is under way.
class Pacer {
 public:
  virtual ~Pacer() = default;
  /// Nothing is due before `date` (infinite: nothing at all), unless flows are under way, which may
  /// end before. Returns how far time may move on, `date` at most; until then it may take its time
  /// and ask for events.
  virtual Seconds hold(Seconds date, bool has_flows) = 0;
};

class Platform {
 public:
  explicit Platform(const ClusterSpec& cluster, Leasing leasing = Leasing::on);
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
  /// copy too; without a tree over the GPU's own link, which takes its latency and then the bytes
  /// at its rate. The caller has one copy of a GPU and direction in progress at a time.
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

  /// The GPUs of a pipeline stage whose steps are to be simulated, in tensor-parallel groups of
  /// equal size one after the other, none of which straddles nodes. Returns the stage's number.
  std::size_t add_stage(std::span<const GpuId> gpus, const CommGroupSizes& groups);
  /// A step of that stage: computation as a delay, traffic as flows. Ranks go in lockstep: what one
  /// of them waits for, all do, so the equal flows of a part are one; tensor-parallel groups
  /// communicate at the same time. Uncontended it takes the sum of its parts' times.
  void step(std::size_t stage, std::span<const StepRounds> rounds, EventHandler& handler,
            std::uint64_t tag);

  /// From now on the link has `share` (above 0) of its full rate.
  void set_link_share(LinkIndex link, double share);

  /// From now on nothing that begins takes this network card, or something does again. What is on
  /// it goes on. Some card of the node must be left to whoever leaves it (checked then).
  void set_nic(int node, int nic, bool is_up);
  /// The same of links inside nodes: other wires or PCIe take over. Some way must be left between
  /// any GPUs (checked when it is asked for).
  void set_links(std::span<const LinkIndex> links, bool are_up);
  /// Tells `observer` of everything on links from now on; null: nobody.
  void watch_links(LinkObserver* observer);
  /// From now on time moves only as far as `pacer`, which must outlive the run, lets it, and the
  /// run goes on when no events are left. Without one events follow each other at once.
  void keep_to(Pacer& pacer);

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

  /// What happened on the links.
  struct Traffic {
    std::uint64_t flows = 0;
    std::uint64_t step_transfers = 0;           // of steps: parts with traffic
    std::uint64_t step_transfers_as_flows = 0;  // of these, those that met others
    struct Crowded {
      LinkIndex link;
      std::string name;  // "node 0 gpu 3 out"
      Seconds beyond;
    };
    /// Links that somebody had to share and waited for: by how much all that crossed them took
    /// longer than alone, longest first.
    std::vector<Crowded> crowded;
  };
  [[nodiscard]] Traffic traffic() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace foretoken
