#include "kernels/published_experts.hpp"

#include <algorithm>
#include <array>

namespace foretoken {

bool are_published_without_gate(const FusedMoe& experts) {
  struct Sizes {
    std::int64_t intermediate;
    int experts, topk;
  };
  constexpr auto ungated = std::to_array<Sizes>({{1856, 128, 6}, {2688, 512, 22}, {5120, 512, 22}});
  return std::ranges::any_of(ungated, [&](const Sizes& sizes) {
    return sizes.intermediate == experts.intermediate && sizes.experts == experts.experts &&
           sizes.topk == experts.topk;
  });
}

}  // namespace foretoken
