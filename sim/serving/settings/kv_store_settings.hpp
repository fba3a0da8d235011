// A tier of KV blocks behind the memory of replicas, as keys of [engine.kv_store]: a disk of each
// replica's own, or one store that all replicas of a pool read and write, as LMCache's and
// Mooncake's remote ones. How blocks go there and back is sim/serving/kv_store.hpp's.
#pragma once

#include "sim/base/keys.hpp"

namespace foretoken {

/// What is written. evicted: prefixes that leave the last tier before it. computed: every prefix as
/// soon as it is computed, so that other replicas find it.
enum class StoreWrites { evicted, computed };
template <>
struct EnumNames<StoreWrites> {
  static constexpr auto names = std::to_array<std::string_view>({"evicted", "computed"});
};

struct KvStoreSettings {
  Bytes capacity;
  BytesPerSecond bandwidth;  // reads and writes together
  Seconds latency;           // of a read, before its bytes
  bool shared = false;       // one for all replicas
  StoreWrites writes = StoreWrites::evicted;
  SourcePosition position;  // of the capacity
};

const Keys<KvStoreSettings>& kv_store_keys();

}  // namespace foretoken
