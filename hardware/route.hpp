// The links that data takes from one GPU to another, as numbers: what wiring.hpp hands out and
// sim/platform gives to SimGrid.
#pragma once

#include <boost/container/small_vector.hpp>
#include <cstdint>

namespace foretoken {

/// A link is one direction of a wire; the opposite direction is another link.
using LinkIndex = std::uint32_t;

/// Links in the order they are taken, each once. Between nodes of NVSwitch on a fat tree it is 2 to
/// 6; a torus may need dozens, which then live on the heap.
using Route = boost::container::small_vector<LinkIndex, 8>;

}  // namespace foretoken
