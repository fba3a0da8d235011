#include "sim/serving/settings/kv_store_settings.hpp"

namespace foretoken {

const Keys<KvStoreSettings>& kv_store_keys() {
  using S = KvStoreSettings;
  static const Keys<S> keys = {
      {"capacity",
       &S::capacity,
       {.range = above(0), .required = true},
       "Room for KV blocks: of each replica, or of all together where it is shared. The prefixes "
       "used longest ago make room."},
      {"bandwidth",
       &S::bandwidth,
       {.range = above(0), .required = true},
       "Rate of reads and writes together. They go one after the other, those of all replicas "
       "where "
       "it is shared; a step waits for what its sequences read."},
      {"latency",
       &S::latency,
       {.range = not_negative()},
       "Time of a read before its first byte: the way to a remote store, the look-up on a disk."},
      {"shared",
       &S::shared,
       {},
       "Whether all replicas read and write one store, which failures leave alone. false: each has "
       "its own (a local disk), lost with it."},
      {"writes",
       &S::writes,
       {},
       "What is written: evicted, prefixes that leave the GPU or, where there is host_kv, the "
       "host; "
       "computed, every prefix as it is computed, so that other replicas find it."},
  };
  return keys;
}

}  // namespace foretoken
