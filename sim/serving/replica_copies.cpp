// A replica's KV blocks on their way: between GPUs and the host's memory, and from and to a store
// behind it, beside or before the step that needs them.
#include <algorithm>
#include <utility>

#include "sim/serving/replica.hpp"

namespace foretoken {

/// Each GPU of a rank with copies moves its part of the blocks, both ways at once. What is read
/// from a store comes first to the host, and is then copied with what was there.
void Replica::start_copies(std::size_t stage, std::size_t slot_index) {
  copy_parts(stage, slot_index, Platform::HostCopy::to_host);
  const bool waits = ranks_.store() != nullptr && pass_store(stage, slot_index);
  if (!waits) copy_parts(stage, slot_index, Platform::HostCopy::from_host);
}

void Replica::copy_parts(std::size_t stage, std::size_t slot_index, Platform::HostCopy direction) {
  Slot& slot = slots_[slot_index];
  const std::vector<GpuId>& gpus = config_.stage_gpus[stage];
  const std::size_t tensor = gpus.size() / ranks_.size();
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const KvCopies& copies = slot.copies[i / tensor];
    const std::int64_t blocks = direction == Platform::HostCopy::to_host
                                    ? copies.to_host
                                    : copies.from_host + copies.from_store;
    if (blocks == 0) continue;
    ++slot.copies_open;
    platform_.copy_host(gpus[i], direction, static_cast<double>(blocks) * config_.kv_block[stage],
                        *this, tag(EventKind::copied, stage, slot_index));
  }
}

/// All GPUs' parts of the stage at once. Returns whether something is read.
bool Replica::pass_store(std::size_t stage, std::size_t slot_index) {
  Slot& slot = slots_[slot_index];
  const auto tensor = static_cast<double>(config_.stage_gpus[stage].size() / ranks_.size());
  std::int64_t to_store = 0, from_store = 0;
  for (const KvCopies& copies : slot.copies) {
    to_store += copies.to_store;
    from_store += copies.from_store;
  }
  const Bytes block = tensor * config_.kv_block[stage];
  KvStore& store = *ranks_.store();
  if (to_store > 0) (void)store.write(platform_.now(), static_cast<double>(to_store) * block);
  if (from_store == 0) return false;
  ++slot.copies_open;
  const Seconds date =
      store.read(platform_.now(), static_cast<double>(from_store) * block, codec_free_at_);
  platform_.at(date, *this, tag(EventKind::fetched, stage, slot_index));
  return true;
}

/// At the store's rate: GPUs and hosts are read faster. In parts of 20 ms, between which others
/// read and write.
Seconds Replica::leave_cache(LeavingPrefixes& left) {
  constexpr Seconds part(0.02);
  KvStore* const store = ranks_.store();
  if (store == nullptr || !store->settings().write_on_drain) return platform_.now();
  if (!std::exchange(left.has_begun, true)) left.chunks = ranks_.idle_prefixes();
  const Bytes block = block_of_rank();
  std::int64_t blocks = 0;
  while (left.next < left.chunks.size() &&
         static_cast<double>(blocks) * block < store->settings().bandwidth * part) {
    const PrefixCache::Evicted& chunk = left.chunks[left.next++];
    if (store->keep(chunk.run.first, chunk.blocks)) blocks += chunk.blocks;
  }
  if (blocks == 0) return platform_.now();
  past_host_.copies.to_store += blocks;
  return store->write(platform_.now(), static_cast<double>(blocks) * block);
}

void Replica::take_fetched(std::size_t stage, std::size_t slot_index) {
  --slots_[slot_index].copies_open;
  copy_parts(stage, slot_index, Platform::HostCopy::from_host);
}

void Replica::end_copies(std::size_t stage, std::size_t slot_index) {
  Slot& slot = slots_[slot_index];
  slot.copies_time = platform_.now() - slot.started;
  if (config_.host_copies == HostCopies::before) {
    copy_wait_ += slot.copies_time;
    return compute(stage, slot_index);
  }
  if (slot.compute_time) settle(stage, slot_index);
}

/// Copies and computing have each run alone; layer by layer they wait for each other. Of L equal
/// layers the copies of each end T / L after those before, and each computes for C / L once its own
/// copies are over: together max(T + C / L, C + T / L).
void Replica::settle(std::size_t stage, std::size_t slot_index) {
  Slot& slot = slots_[slot_index];
  const Seconds computing = *slot.compute_time;
  const double layers = config_.layers[stage];
  const Seconds whole =
      std::max(slot.copies_time + computing / layers, computing + slot.copies_time / layers);
  copy_wait_ += whole - computing;
  platform_.at(std::max(platform_.now(), slot.started + whole), *this,
               tag(EventKind::settled, stage, slot_index));
}

}  // namespace foretoken
