#include "sim/serving/settings/kv_store_settings.hpp"

namespace foretoken {

const Keys<KvStoreSettings>& kv_store_keys() {
  using S = KvStoreSettings;
  static const Keys<S> keys = {
      {"capacity",
       &S::capacity,
       {.range = above(0), .required = true},
       "Room for KV blocks: per replica, or of all together if shared. The least recently used "
       "prefixes are evicted."},
      {"bandwidth",
       &S::bandwidth,
       {.range = above(0), .required = true},
       "Rate of reads and writes together. They run one after the other, across all replicas if "
       "shared; a step waits for what its sequences read."},
      {"latency",
       &S::latency,
       {.range = not_negative()},
       "Latency of a read until its first byte: the network to a remote store, the look-up on a "
       "disk."},
      {"shared",
       &S::shared,
       {},
       "Whether all replicas share one store, which survives failures: those of pools of one model "
       "that also have the same layout, KV format, block size and store settings. false: each "
       "replica has its own (a local disk), lost with it."},
      {"writes",
       &S::writes,
       {},
       "What is written: evicted, prefixes that leave the GPU or, where there is host_kv, the "
       "host; "
       "computed, every prefix as it is computed, so that other replicas find it."},
      {"write_on_drain",
       &S::write_on_drain,
       {.quiet = true},
       "Whether a replica that drains (autoscaling, a change of roles) writes the prefixes in its "
       "GPU and host memory to the store before it leaves its GPUs, so that others find them. Only "
       "if the store is shared."},
      {"prefetch",
       &S::prefetch,
       {.quiet = true},
       "How a request's prefix is read from the store. none: by the request's first step. "
       "Otherwise it is read into host memory (host_kv) from the request's arrival, and the "
       "request starts: best_effort, when it can, with what has arrived; wait, when all has "
       "arrived; timeout, after prefetch_timeout at the latest, with what has arrived (SGLang's "
       "hicache-storage-prefetch-policy)."},
      Key<S>("prefetch_timeout", &S::prefetch_timeout, {.range = not_negative()},
             "How long a request waits for its prefix, from its arrival.")
          .written_if([](const S& s) { return s.prefetch == StorePrefetch::timeout; }),
      {"compression",
       &S::compression,
       {.range = at_least(1, "must be at least 1 (1: none)"), .quiet = true},
       "Bytes of KV cache per byte that the store keeps and sends: 2 for a 16-bit cache stored in "
       "8 bits, 3.5 to 4.3 as published for CacheGen (arXiv:2310.07240)."},
      Key<S>("codec_rate", &S::codec_rate,
             {.range = not_negative(), .fallback = "not set (at no cost)", .quiet = true},
             "Rate, in bytes of KV cache, at which a replica decompresses what it reads, as it "
             "arrives.")
          .written_if([](const S& s) { return s.compression > 1; }),
  };
  return keys;
}

}  // namespace foretoken
