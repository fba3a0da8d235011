// A problem in the words of the rest of Foretoken: its shapes as cases of `foretoken predict`, its
// implementations as tiles of products and experts. Headers say both (`serves`, `tile`); who says
// nothing stays a kernel of its own.
#pragma once

#include <cstdint>

#include "calibration/tune/problem.hpp"
#include "kernels/kernel.hpp"

namespace foretoken::tune {

/// The case of a shape: "kernel", sizes, words, and a histogram where experts are drawn. A mistake
/// in it is a ConfigError at the header's `serves`. `problem` has `serving`.
Value serving_case(const Problem& problem, std::size_t shape);
/// The kernel of that case, warm where it can say so: as the shape is timed.
Kernel serving_kernel(const Problem& problem, std::size_t shape);

/// How a point of the space cuts its product.
struct Tile {
  int m = 0, n = 0, k = 0, warps = 0, stages = 0, group_m = 1, split_k = 1;
  friend auto operator<=>(const Tile&, const Tile&) = default;
};
/// `problem` has `tile`. Throws ConfigError where a size is no whole number from 1 on.
Tile tile_at(const Problem& problem, const State& state);

/// What device/harness.cu fills the `i`-th element of an input of indices with; `seed` counts
/// inputs of all shapes from 1.
std::uint32_t drawn_index(std::uint64_t i, std::uint32_t seed, std::uint32_t below);

}  // namespace foretoken::tune
