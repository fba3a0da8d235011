// A tier of KV blocks behind the memory of replicas, as keys of [engine.kv_store]: a disk of each
// replica's own, or one store that all replicas of a model read and write, as LMCache's and
// Mooncake's remote ones. How blocks go there and back is sim/serving/kv_store.hpp's.
#pragma once

#include <tuple>

#include "sim/base/keys.hpp"

namespace foretoken {

/// What is written. evicted: prefixes that leave the last tier before it. computed: every prefix as
/// soon as it is computed, so that other replicas find it.
enum class StoreWrites { evicted, computed };
template <>
struct EnumNames<StoreWrites> {
  static constexpr auto names = std::to_array<std::string_view>({"evicted", "computed"});
};

/// What becomes of a request's prefix that is in the store, before it is its turn. none: the step
/// that begins it reads it. Else it is read to the host's memory from the request's arrival on, and
/// best_effort: it begins when it can, with what has come by then; wait: when all has come;
/// timeout: when all has come or that time has passed, with what has come. (SGLang's
/// hicache_storage_prefetch_policy.)
enum class StorePrefetch { none, best_effort, wait, timeout };
template <>
struct EnumNames<StorePrefetch> {
  static constexpr auto names =
      std::to_array<std::string_view>({"none", "best_effort", "wait", "timeout"});
};

struct KvStoreSettings {
  Bytes capacity;
  BytesPerSecond bandwidth;  // reads and writes together
  Seconds latency;           // of a read, before its bytes
  bool shared = false;       // one for all replicas
  StoreWrites writes = StoreWrites::evicted;
  bool write_on_drain = false;  // what a replica still holds when it stops
  StorePrefetch prefetch = StorePrefetch::none;
  Seconds prefetch_timeout{1.0};
  double compression = 1.0;   // bytes of KV a byte that is kept and sent
  BytesPerSecond codec_rate;  // of KV bytes that are packed and unpacked; 0: at no cost
  SourcePosition position;    // of the capacity

  /// Wherever they were written.
  friend bool operator==(const KvStoreSettings& a, const KvStoreSettings& b) {
    const auto all = [](const KvStoreSettings& s) {
      return std::tuple(s.capacity, s.bandwidth, s.latency, s.shared, s.writes, s.write_on_drain,
                        s.prefetch, s.prefetch_timeout, s.compression, s.codec_rate);
    };
    return all(a) == all(b);
  }
};

const Keys<KvStoreSettings>& kv_store_keys();

}  // namespace foretoken
