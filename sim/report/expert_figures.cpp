#include "sim/report/expert_figures.hpp"

#include <fmt/format.h>

namespace foretoken {

std::vector<std::string> expert_parts(const ExpertFigures& experts) {
  std::vector<std::string> parts = {fmt::format("{} ({})", experts.routing, experts.source)};
  if (experts.topk_groups < experts.groups) {
    parts.push_back(fmt::format("{} of {} groups per token", experts.topk_groups, experts.groups));
  }
  parts.push_back(
      fmt::format("an average batch activates {} of {} experts", experts.awake, experts.experts));
  return parts;
}

}  // namespace foretoken
