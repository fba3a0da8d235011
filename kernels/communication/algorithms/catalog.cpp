#include <array>

#include "kernels/communication/collective_algorithm.hpp"

namespace foretoken {

extern const CollectiveAlgorithm ring_algorithm;
extern const CollectiveAlgorithm tree_algorithm;
extern const CollectiveAlgorithm nvls_algorithm;
extern const CollectiveAlgorithm hierarchical_algorithm;
extern const CollectiveAlgorithm one_shot_algorithm;
extern const CollectiveAlgorithm two_shot_algorithm;
extern const CollectiveAlgorithm direct_algorithm;
extern const CollectiveAlgorithm expert_exchange_algorithm;

std::span<const CollectiveAlgorithm> collective_algorithms() {
  static const std::array algorithms = {
      ring_algorithm,     tree_algorithm,     nvls_algorithm,   hierarchical_algorithm,
      one_shot_algorithm, two_shot_algorithm, direct_algorithm, expert_exchange_algorithm};
  return algorithms;
}

}  // namespace foretoken
