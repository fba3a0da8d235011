#include "sim/scenario/unclear_drafts.hpp"

#include <algorithm>
#include <map>
#include <string>

#include "models/transformer.hpp"

namespace foretoken {
namespace {

constexpr double ratio_max = 1.5;

std::string layout_key(const MeasuredLayout& layout) {
  return fmt::format("{}/{}/{}/{}/{}", layout.tensor, layout.pipeline, layout.attention_ranks,
                     layout.experts, layout.workers);
}

/// What the row tells of its run, but for the engine's version; models of one shape are one. ""
/// where the model has no drafts, more is known of them than the row tells, or nobody knows it.
std::string configuration_of(const ClosedLoopPoint& point, const ServerSettings& servers) {
  try {
    const Transformer model = load_model(servers.model(point), point.position);
    if (model.mtp_layers == 0) return "";
    const Value scenario = servers.scenario(point);
    if (scenario.find("engine")->find("speculative") != nullptr) return "";
    return fmt::format("{} x {} | {} {} {} | {} > {} | {} + {} x {}", model.layers, model.hidden,
                       point.engine, point.system, point.gemm_format,
                       point.prefill ? layout_key(*point.prefill) : "", layout_key(point.layout),
                       point.prompt_tokens, point.output_tokens, point.users);
  } catch (const ConfigError&) {
    return "";
  }
}

struct Extremes {
  double least = 0, most = 0;
};

}  // namespace

std::vector<std::size_t> points_with_unclear_drafts(const std::vector<ClosedLoopPoint>& points,
                                                    const ServerSettings& servers) {
  std::vector<std::string> configurations;
  std::map<std::string, Extremes> found;
  for (const ClosedLoopPoint& point : points) {
    configurations.push_back(configuration_of(point, servers));
    const auto [entry, is_new] =
        found.try_emplace(configurations.back(), Extremes{point.tpot_ms, point.tpot_ms});
    entry->second.least = std::min(entry->second.least, point.tpot_ms);
    entry->second.most = std::max(entry->second.most, point.tpot_ms);
  }
  std::vector<std::size_t> unclear;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Extremes& extremes = found[configurations[i]];
    if (!configurations[i].empty() && extremes.most > ratio_max * extremes.least)
      unclear.push_back(i);
  }
  return unclear;
}

}  // namespace foretoken
