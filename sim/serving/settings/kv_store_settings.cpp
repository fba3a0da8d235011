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
      {"write_on_drain",
       &S::write_on_drain,
       {.quiet = true},
       "Whether a replica that drains (autoscaling, a change of roles) writes the prefixes that "
       "its "
       "GPUs and its host hold to the store before it leaves its GPUs, so that others find them. "
       "Only where the store is shared."},
      {"prefetch",
       &S::prefetch,
       {.quiet = true},
       "How a request's prefix comes from the store. none: the step that begins the request reads "
       "it. Else it is read to the host's memory (host_kv) from the request's arrival on, and the "
       "request begins: best_effort, when it can, with what has come by then; wait, when all has "
       "come; timeout, after prefetch_timeout at the latest, with what has come (SGLang's "
       "hicache-storage-prefetch-policy)."},
      Key<S>("prefetch_timeout", &S::prefetch_timeout, {.range = not_negative()},
             "How long a request waits for its prefix, from its arrival.")
          .written_if([](const S& s) { return s.prefetch == StorePrefetch::timeout; }),
      {"compression",
       &S::compression,
       {.range = at_least(1, "must be at least 1 (1: none)"), .quiet = true},
       "Bytes of KV cache for each that the store keeps and sends: 2 for a cache of 16 bit that "
       "is kept in 8, 3.5 to 4.3 as published of CacheGen (arXiv:2310.07240)."},
      Key<S>("codec_rate", &S::codec_rate,
             {.range = not_negative(), .fallback = "not set (at no cost)", .quiet = true},
             "Rate, in bytes of KV cache, at which what is read is unpacked while it comes.")
          .written_if([](const S& s) { return s.compression > 1; }),
  };
  return keys;
}

}  // namespace foretoken
