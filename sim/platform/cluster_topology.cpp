// The links of a whole cluster are made at once (0.6 us each), since SimGrid takes no more once
// time has begun.
#include "sim/platform/cluster_topology.hpp"

#include "sim/base/error.hpp"

namespace foretoken {

ClusterTopology::ClusterTopology(const ClusterSpec& cluster, FlowNetwork& network)
    : cluster_(cluster), wiring_(cluster_) {
  for (int node = 0; node < cluster.nodes; ++node) {
    FORETOKEN_CHECK(cluster.nodes == 1 || cluster.fabric.kind == FabricKind::none ||
                        cluster.node_at(node).nics > 0,
                    "a fabric between {} nodes without NICs", cluster.nodes);
  }
  for (LinkIndex link = 0; link < wiring_.link_count(); ++link) {
    const LinkIndex added = network.add_link(wiring_.name(link), wiring_.capacity(link));
    FORETOKEN_CHECK(added == link, "link {} of the cluster became link {}", link, added);
  }
}

}  // namespace foretoken
