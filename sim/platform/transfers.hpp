// Transfers in progress. Each follows its course (course.hpp): a send is one round of one flow, a
// bulk collective one long round a phase, a stepwise collective a round for every step of every
// phase, a step of an engine a round for every collective between its computations.
//
// A step, or a collective across nodes, whose links nobody else is on needs no flows: it leases the
// links, and its end is known. Whoever starts flows on a leased link breaks the lease where the
// lessee then stands, amid a computation or with so many bytes left; from there it goes on with
// flows, round by round, until at the end of a round the links are free again. Dates are the same
// as with flows throughout, and of collectives an observer is told the same.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/platform/course.hpp"
#include "sim/platform/event_heap.hpp"
#include "sim/platform/link_use.hpp"
#include "sim/platform/platform.hpp"

namespace foretoken {

/// Whom to tell when it is over.
struct Caller {
  EventHandler* handler = nullptr;
  std::uint64_t tag = 0;
};

struct Transfer {
  Course course;
  Caller caller;
  /// All links that it takes, each once, if it may lease them; these must outlive it.
  std::span<const LinkIndex> leasable = {};
  std::vector<LinkIndex> own_links = {};  // where nobody else keeps them
};

class Transfers {
 public:
  /// Events that it asks for come to `self` and belong into on_time(). References must outlive it.
  Transfers(const Wiring& wiring, FlowNetwork& network, EventHeap& heap, EventHandler& self)
      : wiring_(wiring), use_(wiring), network_(network), heap_(heap), self_(self) {}

  /// `transfer.course` must not be over.
  void begin(Transfer transfer, Seconds now);
  /// From now on the link has `share` of its full rate.
  void set_share(LinkIndex link, double share) { changes_.push_back({link, share}); }

  void on_time(std::uint64_t tag, Seconds now);
  void on_flow_end(std::uint32_t number, Seconds now);

  /// Whether there is something to start() once SimGrid's clock has come to now.
  [[nodiscard]] bool any_ready() const { return !ready_.empty() || !changes_.empty(); }
  /// Starts the flows of all that are ready, in the order they became it.
  void start(Seconds now);

  [[nodiscard]] const LinkUse& use() const { return use_; }
  [[nodiscard]] std::uint64_t flows() const { return flows_; }
  /// Rounds with flows of what may lease: those that began, and those that took flows.
  [[nodiscard]] std::uint64_t step_transfers() const { return step_transfers_; }
  [[nodiscard]] std::uint64_t step_transfers_as_flows() const { return step_transfers_as_flows_; }
  void watch(LinkObserver* observer) { observer_ = observer; }

 private:
  struct Slot {
    Transfer transfer;
    std::uint32_t generation = 0;  // counts what would make an event of an earlier time void
    bool has_lease = false;
    Seconds since;                    // the lease, or the round's flows
    Course leased;                    // where the lease began; only for an observer
    Seconds skipped;                  // of the round's flows, under the lease before
    std::vector<PlannedFlow> moving;  // the round's flows, of what is left
    std::size_t flows_running = 0;
  };
  struct Change {
    LinkIndex link;
    double share;
  };

  std::uint32_t take_slot(Transfer transfer);
  void wake(std::uint32_t number, Seconds date);
  /// From the beginning of a round.
  void go_on(std::uint32_t number, Seconds now);
  /// The round that is due began at `since`.
  void lease(std::uint32_t number, Seconds since);
  void break_leases(std::span<const LinkIndex> links, Seconds now);
  void break_lease(std::uint32_t number, Seconds now);
  /// The lease is over.
  void end_lease(Slot& slot, Seconds now);
  /// Of a collective. The hundreds of transfers of a step would drown everything else.
  [[nodiscard]] bool tells_of_leases(const Slot& slot) const {
    return observer_ != nullptr && !slot.transfer.own_links.empty();
  }
  /// Tells the observer what would have been flows since the lease began.
  void tell_of_lease(const Slot& slot, Seconds until) const;
  void start_flows(std::uint32_t number, Seconds now);
  void end_round(std::uint32_t number, Seconds now);
  void end(std::uint32_t number, Seconds now);
  void apply(const Change& change, Seconds now);

  const Wiring& wiring_;
  LinkUse use_;
  FlowNetwork& network_;
  EventHeap& heap_;
  EventHandler& self_;
  std::vector<Slot> slots_;  // reused: as many as were ever in progress at once
  std::vector<std::uint32_t> free_;
  std::vector<std::uint32_t> ready_;
  std::vector<Change> changes_;
  LinkObserver* observer_ = nullptr;
  std::uint64_t flows_ = 0, step_transfers_ = 0, step_transfers_as_flows_ = 0;
};

}  // namespace foretoken
