#include "calibration/fit/routing_gain.hpp"

#include <fmt/format.h>

namespace foretoken {

PointIndex index_of_points(const MoeGrid& grid) {
  PointIndex index;
  for (std::size_t i = 0; i < grid.points.size(); ++i) {
    const MoeGridPoint& point = grid.points[i];
    index.try_emplace({point.architecture, point.tokens, point.balancedness}, i);
  }
  return index;
}

std::optional<std::size_t> static_tile(const MoeGrid& grid, const PointIndex& index,
                                       const MoeGridPoint& point) {
  const auto even = index.find({point.architecture, point.tokens, 1.0});
  if (even == index.end()) return std::nullopt;
  return best_tile(grid.points[even->second]);
}

RoutingGains routing_gains(const MoeGrid& grid, const WaveJudgement& judged) {
  const PointIndex index = index_of_points(grid);
  RoutingGains gains;
  for (const WaveChoice& choice : judged.choices) {
    const MoeGridPoint& point = grid.points[choice.point];
    const auto fixed = static_tile(grid, index, point);
    if (!fixed || std::isnan(point.times_us[*fixed])) continue;
    const double speedup = point.times_us[*fixed] / point.times_us[choice.tile];
    gains.slowdown += 1 / speedup - 1;
    for (RoutingGain* gain : {&gains.by_architecture[point.architecture],
                              &gains.by_balancedness[point.balancedness], &gains.total}) {
      gain->speedup.add(speedup);
      gain->oracle.add(point.times_us[*fixed] / point.times_us[best_tile(point)]);
      gain->losses += speedup < 1 ? 1 : 0;
      gain->largest_loss = std::max(gain->largest_loss, 1 / speedup - 1);
      gain->largest_gain = std::max(gain->largest_gain, speedup);
    }
  }
  gains.slowdown /= std::max(1, gains.total.speedup.count);
  return gains;
}

std::string speedup_table(const MoeGrid& grid, const WaveFitOptions& options) {
  const RoutingGains gains = routing_gains(
      grid, judge_wave(grid, wave_folds(grid, WaveSplit::folds), two_level(options, false)));
  std::string text =
      "routing-aware compared with static (the measured best at balancedness 1; the same as bucket "
      "at powers of two), each point held out once\n";
  text += fmt::format("{:<18} {:>8} {:>8} {:>8} {:>8} {:>8} {:>12}\n", "", "points", "speed-up",
                      "largest", "oracle", "slower", "worst loss %");
  const auto line = [&](const std::string& name, const RoutingGain& gain) {
    text += fmt::format("{:<18} {:>8} {:>8.3f} {:>8.3f} {:>8.3f} {:>8} {:>12.1f}\n", name,
                        gain.speedup.count, gain.speedup.value(), gain.largest_gain,
                        gain.oracle.value(), gain.losses, 100 * gain.largest_loss);
  };
  for (const auto& [balancedness, gain] : gains.by_balancedness) {
    line(fmt::format("balancedness {}", balancedness), gain);
  }
  for (const std::string& name : architectures_of(grid)) {
    const auto known = gains.by_architecture.find(name);
    line(name, known == gains.by_architecture.end() ? RoutingGain{} : known->second);
  }
  line("all", gains.total);
  return text + fmt::format("mean time over static's: {:+.2f} %\n", 100 * gains.slowdown);
}

}  // namespace foretoken
