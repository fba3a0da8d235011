#include "sim/serving/settings/front_end_settings.hpp"

namespace foretoken {

const Keys<FrontEndSettings>& front_end_keys() {
  using S = FrontEndSettings;
  static const Keys<S> keys = {
      {"status_interval",
       &S::status_interval,
       {.range = not_negative()},
       "How often the router asks the replicas for their load. Between two answers it decides on "
       "stale figures, as a gateway that polls metrics does; at 0 it always knows the present."},
      {"outstanding_max",
       &S::outstanding_max,
       {.range = at_least(0, "must be at least 1 (or 0: no limit)"), .unit = "requests"},
       "Requests that a replica may hold, queued or running. Once every replica holds that many, "
       "new requests are rejected. 0: no limit."},
      {"attempts_max",
       &S::attempts_max,
       {.range = count(), .unit = "attempts"},
       "How often a request is tried when replicas fail under it, the first attempt included; "
       "after the last one it counts as failed. 1: no retries."},
      {"retry_delay",
       &S::retry_delay,
       {.range = not_negative()},
       "Time from the failure of a replica to the next attempt at the requests it lost, such as a "
       "client's back-off or a health check's period."},
  };
  return keys;
}

}  // namespace foretoken
