// Transfers in progress: rounds of flows that start together after a latency; the next round begins
// when the last flow of the round before has ended. A send is one round of one flow, a bulk
// collective one long round a phase, a stepwise collective a round for every step of every phase.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/platform/collective_plan.hpp"
#include "sim/platform/platform.hpp"

namespace foretoken {

/// Whom to tell when it is over.
struct Caller {
  EventHandler* handler = nullptr;
  std::uint64_t tag = 0;
};

/// `repeats` equal rounds, one after the other.
struct TransferRounds {
  std::vector<PlannedFlow> flows;  // of one round, at least one
  Seconds latency;                 // before each round
  std::int64_t repeats = 1;
};

struct Transfer {
  std::vector<TransferRounds> rounds;
  Caller caller;
};

class Transfers {
 public:
  /// Returns the transfer's number, which is free again once it is over.
  std::uint32_t add(Transfer transfer);
  /// The round that is due or running.
  [[nodiscard]] const TransferRounds& round(std::uint32_t number) const {
    return slots_[number].transfer.rounds[slots_[number].at];
  }

  /// The round's latency is over: its flows are to be started soon.
  void make_ready(std::uint32_t number) { ready_.push_back(number); }
  [[nodiscard]] bool any_ready() const { return !ready_.empty(); }
  /// Starts the flows of all that are ready, in the order they became it; returns how many.
  std::size_t start_ready(FlowNetwork& network);

  enum class Progress { round_running, round_over, all_over };
  /// One flow of transfer `number` has ended.
  Progress end_flow(std::uint32_t number);
  /// After all_over: forgets the transfer.
  Caller remove(std::uint32_t number);

 private:
  struct Slot {
    Transfer transfer;
    std::size_t at = 0;  // in transfer.rounds
    std::size_t flows_running = 0;
  };

  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
  std::vector<std::uint32_t> ready_;
};

}  // namespace foretoken
