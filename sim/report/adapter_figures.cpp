#include "sim/report/adapter_figures.hpp"

#include <fmt/format.h>

#include "sim/report/number_text.hpp"

namespace foretoken {

std::vector<std::string> adapter_parts(const AdapterFigures& adapters) {
  std::vector<std::string> parts = {
      fmt::format("{} for {}", counted(adapters.slots, "slot"), counted(adapters.asked, "adapter")),
      fmt::format("{} in a step", grouped(adapters.mean_step, 1)), counted(adapters.loads, "load")};
  if (adapters.from_disk > 0) parts.push_back(grouped(adapters.from_disk) + " from disk");
  if (adapters.wait_s > 0) parts.push_back("steps waited " + duration(adapters.wait_s));
  return parts;
}

}  // namespace foretoken
