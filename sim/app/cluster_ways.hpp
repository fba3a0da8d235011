// What `cluster show` says of the ways between GPUs: how each kind is reached, what all have at
// once, and what the network carries between the halves of a cluster.
#pragma once

#include <string>

#include "hardware/cluster.hpp"
#include "sim/report/text_table.hpp"

namespace foretoken {

/// "450 GB/s"
std::string gigabytes(BytesPerSecond rate);
/// "87 %"
std::string whole_percent(double share);

/// The kinds of GPUs that GPU 0 sees, nearest first.
std::string reach_text(const ClusterSpec& cluster, const TextTable::Layout& layout);
/// What each GPU has when all are busy.
std::string rates_text(const ClusterSpec& cluster, const TextTable::Layout& layout);
/// For clusters of several nodes.
std::string bisection_text(const ClusterSpec& cluster);

}  // namespace foretoken
