// The built-in tile models: one declaration and one line each.
#include "kernels/tiles/tile_model.hpp"

namespace foretoken {

std::unique_ptr<TileModel> make_origami_2025();
std::unique_ptr<TileModel> make_origami_2026();
std::unique_ptr<TileModel> make_foretoken_2026();

Registry<TileModelFactory> tile_model_catalog() {
  Registry<TileModelFactory> catalog("tile model");
  catalog.add("origami_2025",
              "tritonBLAS as published: Algorithms 3 to 9, with Origami's ranking factors",
              make_origami_2025);
  catalog.add("origami_2026",
              "Origami's core of 2026: hit rates with capacity by operand, prefetch depth, edges "
              "and reductions priced",
              make_origami_2026);
  catalog.add(
      "foretoken_2026",
      "our own: pipelines, CTAs that share a unit, order in L2; constants fitted on an H200",
      [] { return make_foretoken_2026(); });
  return catalog;
}

}  // namespace foretoken
