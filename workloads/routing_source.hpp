// What outputs call the origin of a routing, so that nobody takes a law for a router's record.
#pragma once

#include <string_view>

#include "kernels/routing.hpp"

namespace foretoken {

/// "recorded": histograms that were given; "synthetic": a law. No published record says a router's
/// balancedness by layer and batch (usual_routing in routing_draw.hpp lists what is published).
inline std::string_view routing_source(Routing::Kind kind) {
  return kind == Routing::Kind::histogram ? "recorded" : "synthetic";
}

}  // namespace foretoken
