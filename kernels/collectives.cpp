#include "kernels/collectives.hpp"

namespace foretoken {

Seconds collective_time(CollectiveOp op, const GroupLinks& links, Bytes size) {
  if (links.ranks <= 1) return Seconds(0);
  FORETOKEN_CHECK(links.bandwidth.value() > 0, "{} ranks on {} nodes without bandwidth",
                  links.ranks, links.nodes);
  const double steps = links.ranks - 1;
  const Bytes chunk = size / static_cast<double>(links.ranks);
  switch (op) {
    case CollectiveOp::all_reduce:
      return 2 * steps * (links.latency + chunk / links.bandwidth);
    case CollectiveOp::all_gather:
    case CollectiveOp::reduce_scatter:
      return steps * (links.latency + chunk / links.bandwidth);
    case CollectiveOp::all_to_all: {
      const bool own_rate = links.exchange_bandwidth.value() > 0;
      const bool own_latency = links.exchange_latency.value() > 0;
      return steps * ((own_latency ? links.exchange_latency : links.latency) +
                      chunk / (own_rate ? links.exchange_bandwidth : links.bandwidth));
    }
    case CollectiveOp::send_recv:
      break;
  }
  return links.latency + size / links.bandwidth;
}

}  // namespace foretoken
