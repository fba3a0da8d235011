// Prefix chunks on a disk or in a remote store, until others that were used later need the room,
// and the queue of reads and writes before its bandwidth. Only counts are kept. It outlives the
// caches that use it where it is shared, and several may. Chunks can be found from the moment in
// which they are handed over; that they are still being written then makes reads wait longer, not
// miss.
#pragma once

#include <algorithm>

#include "sim/serving/host_pool.hpp"
#include "sim/serving/settings/kv_store_settings.hpp"

namespace foretoken {

class KvStore {
 public:
  /// `blocks` of the caches that use it: as many as its capacity holds.
  KvStore(const KvStoreSettings& settings, std::int64_t blocks)
      : settings_(settings), chunks_(blocks) {}

  [[nodiscard]] bool takes_what_is_computed() const {
    return settings_.writes == StoreWrites::computed;
  }
  [[nodiscard]] bool holds(std::uint64_t hash) const { return chunks_.holds(hash); }
  /// As HostPool's; what has to go for the chunk is lost.
  bool keep(std::uint64_t hash, std::int64_t blocks) {
    const bool is_new = chunks_.keep(hash, blocks);
    (void)chunks_.take_evicted();
    return is_new;
  }
  void pin(std::uint64_t hash) { chunks_.pin(hash); }
  void unpin(std::uint64_t hash) { chunks_.unpin(hash); }

  [[nodiscard]] const KvStoreSettings& settings() const { return settings_; }

  /// When bytes that are asked for now will have come, behind all that was asked for before. Their
  /// reader unpacks them while they come, one read after the other: its codec is free again at
  /// `codec_free_at`.
  Seconds read(Seconds now, Bytes size, Seconds& codec_free_at) {
    const Seconds begin = std::max(free_at_, now);
    const Seconds sent = pass(now, size);
    if (!(settings_.codec_rate > BytesPerSecond(0.0))) return sent + settings_.latency;
    codec_free_at = std::max(sent, std::max(begin, codec_free_at) + size / settings_.codec_rate);
    return codec_free_at + settings_.latency;
  }
  /// When it will have come. Nobody waits for a write but what comes after it, and a replica that
  /// leaves.
  Seconds write(Seconds now, Bytes size) { return pass(now, size); }

  [[nodiscard]] std::int64_t blocks() const { return chunks_.blocks(); }
  [[nodiscard]] std::int64_t used() const { return chunks_.used(); }
  [[nodiscard]] std::int64_t used_peak() const { return chunks_.used_peak(); }

 private:
  Seconds pass(Seconds now, Bytes size) {
    free_at_ = std::max(free_at_, now) + size / settings_.compression / settings_.bandwidth;
    return free_at_;
  }

  KvStoreSettings settings_;
  HostPool chunks_;  // no sequences
  Seconds free_at_;
};

}  // namespace foretoken
