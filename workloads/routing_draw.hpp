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

/// What steps take where nobody says: the skew that AIConfigurator's tables of experts are measured
/// with. A batch of few tokens wakes about as many experts as if each token drew its own (of 128,
/// top 8: 16 tokens 67 % against 63), a large one somewhat fewer, as popular experts leave others
/// idle; dealt out evenly ("balanced") 16 tokens would wake all. `foretoken validate --silicon` on
/// servers of gpt-oss, MiniMax-M2.5, Qwen3 and Qwen3.5: TPOT errors that do not grow with users.
/// Synthetic: what is published of real routers says less. RaMP (section III-A): balancedness near
/// 0.5 for 12 prompts of one user each, OLMoE and Qwen3. AIConfigurator's capture of
/// Qwen3.6-35B-A3B (256 experts, top 8, on 4 ranks of a B300; collector/layerwise/fpm_ground_truth/
/// EXPERT_ROUTING_CAPTURE.md, 01e16496): the busiest rank has 1.35 times the mean, within 1.8 %
/// from step to step, over all layers of steps of 128 to 8,000 tokens a prompt; this law says 1.21
/// there.
inline constexpr std::string_view usual_routing = "power_law:1.01";

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
