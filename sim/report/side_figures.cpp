#include "sim/report/side_figures.hpp"

#include <fmt/format.h>

#include "sim/base/unit_text.hpp"
#include "sim/report/number_text.hpp"

namespace foretoken {

std::string_view SideFigures::binding() const {
  if (links_busy > attention_busy && links_busy > experts_busy) return "links";
  return attention_busy >= experts_busy ? "attention" : "experts";
}

std::vector<std::string> side_parts(const SideFigures& sides) {
  return {fmt::format("{} for attention, {} for experts", sides.attention_gpus, sides.expert_gpus),
          fmt::format("{} micro-batch{} in turn", sides.micro_batches,
                      sides.micro_batches == 1 ? "" : "es"),
          fmt::format("within steps attention is busy {} of the time, experts {}, links {}",
                      percent(sides.attention_busy), percent(sides.experts_busy),
                      percent(sides.links_busy)),
          fmt::format("{} {}", sides.binding(), sides.binding() == "attention" ? "binds" : "bind")};
}

std::vector<std::string> memory_parts(const std::vector<NamedCount>& pieces) {
  std::vector<std::string> parts;
  for (const NamedCount& piece : pieces) {
    const Bytes bytes(static_cast<double>(piece.count));
    parts.push_back(spelled(piece.name) + " " + readable(bytes));
  }
  return parts;
}

}  // namespace foretoken
