// What communication costs when nobody else uses the links: closed forms over the number of ranks,
// message size, latency and bandwidth. sim/platform's flows agree with them uncontended (a test
// shows it); contention is sim/platform's.
#pragma once

#include <span>

#include "hardware/cluster.hpp"
#include "kernels/kernel.hpp"
#include "sim/base/ids.hpp"

namespace foretoken {

/// The links a group of GPUs communicates over, as its slowest neighbours see them.
struct GroupLinks {
  int ranks = 1;
  int nodes = 1;
  int ranks_per_node_min = 1;
  int ranks_per_node_max = 1;
  Seconds latency;           // of one message between ring neighbours
  BytesPerSecond bandwidth;  // per rank and direction, protocol efficiency included
  /// The same when every rank talks to every other, so that all of a node's ranks leave it at once;
  /// 0: as above.
  Seconds exchange_latency;
  BytesPerSecond exchange_bandwidth;
  bool is_private = true;  // no link of the ring is shared with GPUs outside the group: memoisable
};

/// `group` must not be empty (checked).
GroupLinks group_links(const ClusterSpec& cluster, std::span<const GpuId> group);

/// Ring algorithms with n ranks, a = latency, B = bandwidth, S = `size` as NCCL's tests count it:
///   all_reduce       2 (n-1) (a + S / (n B))
///   all_gather, reduce_scatter   (n-1) (a + S / (n B))
///   all_to_all       (n-1) (a_x + S / (n B_x))  S = what one rank sends in all, _x: exchange
///   send_recv        a + S / B
/// n = 1 costs nothing.
Seconds collective_time(CollectiveOp op, const GroupLinks& links, Bytes size);

}  // namespace foretoken
