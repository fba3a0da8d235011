#include "calibration/evaluate/ceiling_coverage.hpp"

#include <map>

#include "calibration/datasets/family_table.hpp"

namespace foretoken {

std::vector<CoverageLine> ceiling_coverage(const Dataset& dataset, const Ceilings& ceilings) {
  std::map<std::string, std::map<std::string, CoverageLine>> families;
  GpuSpecs specs;
  for (const Sample& sample : dataset.samples) {
    if (!is_held_out_layout(sample.layout)) continue;
    std::optional<Ceiling> ceiling;
    try {
      ceiling = ceilings.find(sample.kernel, specs.find(sample.gpu));
    } catch (const PredictionError&) {
      continue;  // the GPU has no path for the format
    }
    if (!ceiling) continue;
    const bool is_below = sample.time >= ceiling->time;
    for (const std::string& gpu : {std::string(), sample.gpu}) {
      CoverageLine& line = families[std::string(ceiling->family)][gpu];
      ++line.launches;
      line.below += is_below ? 1 : 0;
    }
  }
  std::vector<CoverageLine> lines;
  for (const auto& [family, gpus] : families) {
    for (const auto& [gpu, line] : gpus) {
      lines.push_back({family, gpu.empty() ? "all" : gpu, line.launches, line.below});
    }
  }
  return lines;
}

}  // namespace foretoken
