// A larger problem costs no less. Networks know nothing of that: between and beyond the few sizes
// of their tables they sag, so that 2,048 tokens could cost less than 1,024. On a lattice of sizes
// of each layer, asked for once and with equal sequences, a price is held half way between the
// dearest of the smaller problems and the cheapest of the larger ones, as far as the networks know
// these. In between the difference is carried over in proportion, so that a batch of unequal
// sequences keeps what its own plan says. What is left are steps of tiles and plans that
// first-order times have, and what lies between two points of the lattice. Not for use from several
// threads at once.
#pragma once

#include <functional>
#include <unordered_map>
#include <vector>

#include "kernels/estimators/estimator.hpp"
#include "kernels/estimators/size_lattice.hpp"

namespace foretoken {

class LargerProblems {
 public:
  /// In seconds: the first-order time of one kernel, and what its network makes of it.
  struct Price {
    double first = 0, price = 0;
  };
  using Ask = std::function<Price(const Kernel&)>;

  /// What `kernel` costs whose price by itself is `alone` seconds. Where its size says all of its
  /// problem, that lies between what the points of the lattice beside it cost. Kernels without a
  /// problem_size(), and of families that say so, cost `alone`.
  [[nodiscard]] double held(const EstimatorFamily& family, const Kernel& kernel, const GpuSpec& gpu,
                            double alone, const Ask& ask) const;

 private:
  // Not noexcept on purpose: libstdc++ then stores each node's hash instead of recomputing it.
  struct Hash {
    std::size_t operator()(const Kernel& kernel) const { return kernel_hash(kernel); }
  };
  struct Part {
    const EstimatorFamily* family;
    GpuSpec gpu;
    std::unordered_map<Kernel, SizeLattice, Hash> layers;  // by the kernel with the least problem
  };
  class Search;

  SizeLattice& layer_of(const EstimatorFamily& family, const Kernel& kernel, const GpuSpec& gpu,
                        std::size_t axes) const;

  // A memo is no state that shows: held() answers the same with and without it.
  mutable std::vector<Part> parts_;
};

}  // namespace foretoken
