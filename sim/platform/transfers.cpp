#include "sim/platform/transfers.hpp"

#include <algorithm>
#include <utility>

namespace foretoken {
namespace {

/// What SimGrid's whole units leave of a flow; less is no time on any link.
constexpr Bytes bytes_min(1e-6);
/// Of a transfer: below, it is SimGrid's rounding and no contention.
constexpr Seconds noticed(1e-11);

std::span<const LinkIndex> links_of(const PlannedFlow& flow) {
  return {flow.route.data(), flow.route.size()};
}

}  // namespace

std::uint32_t Transfers::take_slot(Transfer transfer) {
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(slots_.size()));
    slots_.emplace_back();
  }
  const std::uint32_t number = free_.back();
  free_.pop_back();
  slots_[number].transfer = std::move(transfer);
  slots_[number].skipped = Seconds(0);
  return number;
}

void Transfers::wake(std::uint32_t number, Seconds date) {
  heap_.push(date, self_, number | std::uint64_t{slots_[number].generation} << 32);
}

void Transfers::begin(Transfer transfer, Seconds now) {
  const std::uint32_t number = take_slot(std::move(transfer));
  const Slot& slot = slots_[number];
  if (!slot.transfer.leasable.empty()) step_transfers_ += slot.transfer.course.transfers_left();
  go_on(number, now);
}

void Transfers::go_on(std::uint32_t number, Seconds now) {
  Slot& slot = slots_[number];
  const std::span<const LinkIndex> links = slot.transfer.leasable;
  if (!links.empty() && use_.are_free(links)) return lease(number, now);
  // A step is on its links between its transfers too: what it does next is soon.
  if (!links.empty()) {
    break_leases(links, now);
    use_.enter(links);
  }
  wake(number, now + slot.transfer.course.round().delay);
}

void Transfers::lease(std::uint32_t number, Seconds since) {
  Slot& slot = slots_[number];
  use_.lease(slot.transfer.leasable, number);
  slot.has_lease = true;
  slot.since = since;
  if (tells_of_leases(slot)) slot.leased = slot.transfer.course;
  wake(number, since + slot.transfer.course.left());
}

void Transfers::on_time(std::uint64_t tag, Seconds now) {
  const auto number = static_cast<std::uint32_t>(tag);
  Slot& slot = slots_[number];
  if (tag >> 32 != slot.generation) return;
  if (slot.has_lease) {
    end_lease(slot, now);
    return end(number, now);
  }
  const Round& round = slot.transfer.course.round();
  if (round.flows.empty()) {
    slot.since = now;
    return end_round(number, now);
  }
  const std::span<const LinkIndex> links = slot.transfer.leasable;
  if (links.empty()) return ready_.push_back(number);
  use_.leave(links);
  if (use_.are_free(links)) return lease(number, now - round.delay);
  use_.enter(links);
  ready_.push_back(number);
}

void Transfers::break_leases(std::span<const LinkIndex> links, Seconds now) {
  for (const LinkIndex link : links) {
    const std::optional<std::uint32_t> lessee = use_.lessee_of(link);
    if (lessee) break_lease(*lessee, now);
  }
}

void Transfers::break_lease(std::uint32_t number, Seconds now) {
  Slot& slot = slots_[number];
  end_lease(slot, now);
  ++slot.generation;
  use_.enter(slot.transfer.leasable);
  const Seconds within = slot.transfer.course.skip(now - slot.since);
  if (slot.transfer.course.is_over()) {  // its end is due now
    use_.leave(slot.transfer.leasable);
    return end(number, now);
  }
  const Round& round = slot.transfer.course.round();
  if (within < round.delay) return wake(number, now + (round.delay - within));
  slot.skipped = within - round.delay;
  ready_.push_back(number);
}

void Transfers::end_lease(Slot& slot, Seconds now) {
  use_.end_lease(slot.transfer.leasable);
  slot.has_lease = false;
  if (tells_of_leases(slot)) tell_of_lease(slot, now);
}

void Transfers::tell_of_lease(const Slot& slot, Seconds until) const {
  Course course = slot.leased;
  for (Seconds date = slot.since; !course.is_over() && date < until; course.next()) {
    const Seconds start = date + course.round().delay;
    for (const PlannedFlow& flow : course.round().flows) {
      const Seconds end = std::min(start + flow.size / flow.rate, until);
      if (end > start)
        observer_->on_flow(links_of(flow), std::min(flow.size, flow.rate * (end - start)), start,
                           end);
    }
    date += course.round().time();
  }
}

void Transfers::start(Seconds now) {
  for (std::size_t i = 0; i < changes_.size(); ++i) apply(changes_[i], now);
  changes_.clear();
  // Breaking a lease makes one more ready.
  for (std::size_t i = 0; i < ready_.size(); ++i) start_flows(ready_[i], now);
  ready_.clear();
}

void Transfers::apply(const Change& change, Seconds now) {
  break_leases(std::span(&change.link, 1), now);
  use_.set_share(change.link, change.share);
  network_.set_bandwidth(change.link, wiring_.capacity(change.link) * change.share);
}

void Transfers::start_flows(std::uint32_t number, Seconds now) {
  std::vector<PlannedFlow> moving = std::move(slots_[number].moving);
  moving.clear();
  const Seconds skipped = std::exchange(slots_[number].skipped, Seconds(0));
  for (const PlannedFlow& flow : slots_[number].transfer.course.round().flows) {
    moving.push_back(flow);
    moving.back().size -= flow.rate * skipped;
    if (moving.back().size < bytes_min && skipped > Seconds(0)) moving.pop_back();
  }
  const bool is_step = !slots_[number].transfer.leasable.empty();
  for (const PlannedFlow& flow : moving) {
    if (!is_step) break_leases(links_of(flow), now);
    if (!is_step) use_.enter(links_of(flow));
    network_.start_flow(flow.route, flow.size, flow.rate, number);
  }
  use_.load(moving, now);
  flows_ += moving.size();
  if (is_step && !moving.empty()) ++step_transfers_as_flows_;
  Slot& slot = slots_[number];
  slot.since = now;
  slot.flows_running = moving.size();
  slot.moving = std::move(moving);
  if (slot.moving.empty()) end_round(number, now);
}

void Transfers::on_flow_end(std::uint32_t number, Seconds now) {
  if (--slots_[number].flows_running == 0) end_round(number, now);
}

void Transfers::end_round(std::uint32_t number, Seconds now) {
  Slot& slot = slots_[number];
  use_.unload(slot.moving, now);
  const Seconds beyond = now - slot.since - Round{{}, slot.moving}.flowing();
  if (beyond > noticed) use_.charge(slot.moving, slot.since, beyond);
  const bool is_step = !slot.transfer.leasable.empty();
  for (const PlannedFlow& flow : slot.moving) {
    if (!is_step) use_.leave(links_of(flow));
    if (observer_ != nullptr) observer_->on_flow(links_of(flow), flow.size, slot.since, now);
  }
  if (is_step) use_.leave(slot.transfer.leasable);
  slot.moving.clear();
  slot.transfer.course.next();
  if (slot.transfer.course.is_over()) return end(number, now);
  go_on(number, now);
}

void Transfers::end(std::uint32_t number, Seconds now) {
  Slot& slot = slots_[number];
  ++slot.generation;
  free_.push_back(number);
  heap_.push(now, *slot.transfer.caller.handler, slot.transfer.caller.tag);
}

}  // namespace foretoken
