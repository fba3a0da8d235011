#include "sim/serving/variant_analyzer.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace foretoken {

/// Where nothing would be left, one replica of the cheapest
/// (internal/engines/pipeline/enforcer.go).
std::vector<int> VariantAnalyzer::look(const ModelView& view) {
  std::vector<int> targets = wanted(view);
  for (std::size_t i = 0; i < targets.size(); ++i)
    targets[i] = std::clamp(targets[i], variants_[i].min, variants_[i].max);
  if (std::accumulate(targets.begin(), targets.end(), 0) > 0) return targets;
  const auto by_cost = [](const Variant& variant) { return std::tie(variant.cost, variant.name); };
  const auto cheapest = std::ranges::min_element(variants_, {}, by_cost);
  targets[static_cast<std::size_t>(cheapest - variants_.begin())] = 1;
  return targets;
}

std::unique_ptr<VariantAnalyzer> make_variant_analyzer(const WvaSettings& settings,
                                                       std::vector<Variant> variants) {
  return settings.analyzer == SaturationAnalyzer::tokens
             ? make_token_analyzer(settings, std::move(variants))
             : make_share_analyzer(settings, std::move(variants));
}

}  // namespace foretoken
