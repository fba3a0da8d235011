#include "sim/metrics/slo.hpp"

namespace foretoken {

bool SloTargets::is_met_by(const RequestRecord& record) const {
  const auto holds = [](const std::optional<Seconds>& target, Seconds value) {
    return !target || value <= *target;
  };
  return record.status == RequestStatus::completed && holds(ttft, record.ttft()) &&
         holds(tpot, record.tpot()) && holds(e2e, record.end_to_end());
}

const Keys<SloTargets>& slo_keys() {
  using S = SloTargets;
  const Range positive = above(0, "must be above 0");
  static const Keys<S> keys = {
      {"ttft",
       &S::ttft,
       {.range = positive},
       "Longest acceptable time to first token, queueing included."},
      {"tpot",
       &S::tpot,
       {.range = positive},
       "Longest acceptable time per output token: the mean of a request after its first token. 50 "
       "ms keep ahead of a reader."},
      {"e2e",
       &S::e2e,
       {.range = positive},
       "Longest acceptable time from a request's arrival to its last token."},
      {"percentile",
       &S::percentile,
       // Who writes 0.99 means 99 %.
       {.range = between(1, 100, "is in per cent of the requests: from 1 to 100, as 99"),
        .unit = "% of requests"},
       "Share of the requests that must meet every target given above for the SLO to hold; a "
       "request that fails or is rejected misses it."},
  };
  return keys;
}

}  // namespace foretoken
