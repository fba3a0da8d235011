#include "calibration/tune/app/standing_text.hpp"

namespace foretoken::tune {

void CeilingFlags::add_to(CLI::App& command) {
  command.add_option("--ceilings", folder,
                     "Folder of your own ceilings (foretoken-calibrate train --quantile 0.8)");
  command
      .add_option("--ceiling-margin", margin, "Gap up to which a kernel counts as at its ceiling")
      ->check(CLI::Range(0.0, 10.0))
      ->capture_default_str();
}

Position position_of(const Problem& problem, const Candidate& candidate,
                     std::span<const double> seconds, const CeilingAnswer& ceiling,
                     const GpuSpec& gpu, double margin) {
  Position position{ceiling, {}, roof_share(problem, candidate, seconds, gpu), margin};
  if (ceiling.times) position.standing = standing_of(*ceiling.times, seconds);
  return position;
}

std::string position_text(const Position& position) {
  if (!position.ceiling.times) {
    return fmt::format("no ceiling: {}; {:.0f} % of the roof", position.ceiling.why_not,
                       100 * position.roof_share);
  }
  const CeilingTimes& times = *position.ceiling.times;
  const Standing& standing = position.standing;
  const std::string family = times.family + (times.is_transferred ? " as other GPUs have it" : "");
  if (standing.is_at_ceiling(position.margin)) {
    return fmt::format("at the ceiling of {} (median gap {:.2f})", family, standing.gap);
  }
  return fmt::format("{:.2f}x below the ceiling of {} (median gap {:.2f})", standing.speedup_left,
                     family, standing.gap);
}

Value position_value(const Position& position) {
  Value value = ValueObject{{"roof_share", position.roof_share}};
  if (!position.ceiling.times) {
    value.set("no_ceiling", position.ceiling.why_not);
    return value;
  }
  value.set("family", position.ceiling.times->family);
  value.set("transferred", position.ceiling.times->is_transferred);
  value.set("gap", position.standing.gap);
  value.set("speedup_left", position.standing.speedup_left);
  value.set("at_ceiling", position.standing.is_at_ceiling(position.margin));
  return value;
}

}  // namespace foretoken::tune
