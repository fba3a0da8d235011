// Slots are reused, so that a long run holds as many as were ever in progress at once.
#include "sim/platform/transfers.hpp"

#include <utility>

namespace foretoken {

std::uint32_t Transfers::add(Transfer transfer) {
  if (free_.empty()) {
    slots_.push_back({std::move(transfer)});
    return static_cast<std::uint32_t>(slots_.size() - 1);
  }
  const std::uint32_t number = free_.back();
  free_.pop_back();
  slots_[number] = {std::move(transfer)};
  return number;
}

std::size_t Transfers::start_ready(FlowNetwork& network) {
  std::size_t flows = 0;
  for (const std::uint32_t number : ready_) {
    Slot& slot = slots_[number];
    const std::vector<PlannedFlow>& round_flows = round(number).flows;
    slot.flows_running = round_flows.size();
    flows += slot.flows_running;
    for (const PlannedFlow& flow : round_flows)
      network.start_flow(flow.route, flow.size, flow.rate, number);
  }
  ready_.clear();
  return flows;
}

Transfers::Progress Transfers::end_flow(std::uint32_t number) {
  Slot& slot = slots_[number];
  if (--slot.flows_running > 0) return Progress::round_running;
  if (--slot.transfer.rounds[slot.at].repeats > 0) return Progress::round_over;
  return ++slot.at < slot.transfer.rounds.size() ? Progress::round_over : Progress::all_over;
}

Caller Transfers::remove(std::uint32_t number) {
  free_.push_back(number);
  return slots_[number].transfer.caller;
}

}  // namespace foretoken
