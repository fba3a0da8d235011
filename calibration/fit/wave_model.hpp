// RaMP's wave cost model (arXiv 2604.26039, Equation 6): T = a + b g/SM + c g + d ln(g+1) of one
// configuration from the number of CTAs g that a routing gives it.
//
// What the paper says cannot be had as printed: on one GPU g/SM and g are the same column, so that
// b and c are not two parameters; its step from 8.1 to 4.0 % regret by "separating" them cannot
// come from this equation. Two readings are offered: the continuous one, solved by a rank-revealing
// decomposition (whose answers are those of two parameters), and one in which waves are whole,
// ceil(g/SM), as the paper's own text on the quantisation cliff has it; then they do separate.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include "sim/base/enum_names.hpp"

namespace foretoken {

enum class WaveCount { continuous, ceil };
template <>
struct EnumNames<WaveCount> {
  static constexpr auto names = std::to_array<std::string_view>({"continuous", "ceil"});
};

struct WaveForm {
  int terms = 4;  // 2: a + k g; 3: and waves; 4: and ln(g + 1); 5: and g squared
  WaveCount waves = WaveCount::continuous;
  /// The logarithm only where the median profiled grid is below one wave.
  bool adaptive_log = true;
};

/// 1, g, waves, ln(g + 1), g squared; the form says how many of them.
std::array<double, 5> wave_columns(const WaveForm& form, double grid, int sm_count);

struct WaveModel {
  WaveForm form;
  int sm_count = 0;
  std::array<double, 5> constants{};  // us; those of columns that the form leaves out are 0

  [[nodiscard]] double time_us(double grid) const;
  /// Whether constants[3] was fitted.
  [[nodiscard]] bool has_log() const { return constants[3] != 0; }
};

struct GridTime {
  double grid = 0;
  double time_us = 0;
};

/// Least squares over the points, of relative errors or of plain ones; at least one point, times
/// above 0 (checked). Collinear columns share their slope evenly per unit of their size (the
/// minimum norm after each column is scaled to its largest value).
WaveModel fit_wave_model(const WaveForm& form, int sm_count, std::span<const GridTime> points,
                         bool relative);

}  // namespace foretoken
