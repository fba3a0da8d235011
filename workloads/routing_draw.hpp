// How the routing of a mixture-of-experts model changes from step to step: the histograms that
// steps draw from, each as likely. One draw a step and pipeline stage stands for all of its layers,
// whose balancedness hardly differs within a step (RaMP, Section IV-C: variance 0.0008).
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/routing.hpp"

namespace foretoken {

/// What steps take where nobody says: each token draws its experts, the most popular 30 times as
/// likely as the least popular. The law that AIConfigurator's tables of experts are measured with
/// ("power_law:1.01") wakes about as many experts of a step, but is another one up to an assignment
/// an expert than beyond: of 256 experts, top 8, 32 tokens wake 122 and 33 tokens 163, where tokens
/// that draw wake 131 and 133. Servers show no such step. 30 was chosen with `foretoken validate
/// --silicon` on the rows with four-way tensor parallelism (235 of models with experts): TPOT off
/// by 7.1 % in the median, by 8.0 with 10, 8.1 by the tables' law; by 8.5, 11.0 and 13.4 with 32
/// users. Synthetic: what is published of real routers says less. RaMP (section III-A):
/// balancedness near 0.5 for 12 prompts of one user each, OLMoE and Qwen3. AIConfigurator's capture
/// of Qwen3.6-35B-A3B (256 experts, top 8, on 4 ranks of a B300;
/// collector/layerwise/fpm_ground_truth/ EXPERT_ROUTING_CAPTURE.md, 01e16496): the busiest rank
/// has 1.35 times the mean, within 1.8 % from step to step, over all layers of steps of 128 to
/// 8,000 tokens a prompt; here it has 1.12.
inline constexpr std::string_view usual_routing = "popularity:30";

struct RoutingDraw {
  std::string text;           // as the scenario writes it; "" = no draws
  std::vector<Routing> each;  // none: no draws
  std::uint64_t seed = 1;

  friend bool operator==(const RoutingDraw&, const RoutingDraw&) = default;
};

/// Whether a routing's text asks for draws: "balancedness:0.55+-0.06" or "histograms:FILE".
bool is_routing_draw(std::string_view text);

/// "balancedness:MEAN+-DEVIATION": 32 equally likely quantiles of the normal distribution, held
/// above 0 and at most 1. "histograms:FILE": each of the file (histogram_file.hpp), the assignments
/// of every expert, scaled to the step's tokens. `experts` is how many a histogram must have, 0 =
/// not known; `base_folder` is where a relative FILE starts. `text` must be a routing draw; throws
/// ConfigError for a wrong one.
RoutingDraw parse_routing_draw(std::string_view text, int experts,
                               const std::filesystem::path& base_folder,
                               const SourcePosition& position);

/// A single routing that stands for the draws where nothing is drawn (`foretoken step`): the mean
/// balancedness, or all histograms together.
Routing typical_routing(const RoutingDraw& draw);

}  // namespace foretoken
