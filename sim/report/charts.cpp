#include "sim/report/charts.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "sim/report/terminal_text.hpp"

namespace foretoken {
namespace {

constexpr std::array<std::string_view, 8> eighths_wide = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
constexpr std::array<std::string_view, 8> eighths_tall = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

}  // namespace

std::string bar(double share, int columns) {
  if (!(share > 0)) return {};
  const double eighths = std::round(std::min(share, 1.0) * 8 * columns);
  const int drawn = std::max(1, static_cast<int>(eighths));
  return repeated("█", drawn / 8) + std::string(eighths_wide[static_cast<std::size_t>(drawn % 8)]);
}

std::string sparkline(const std::vector<double>& values, int columns) {
  if (values.empty() || columns <= 0) return {};
  const double top = std::ranges::max(values);
  const auto width = static_cast<std::size_t>(columns);
  std::string result;
  for (std::size_t column = 0; column < width; ++column) {
    const std::size_t begin = column * values.size() / width;
    const std::size_t end = std::max(begin + 1, (column + 1) * values.size() / width);
    const double value = *std::max_element(values.begin() + static_cast<std::ptrdiff_t>(begin),
                                           values.begin() + static_cast<std::ptrdiff_t>(end));
    // Level 0 for nothing, 1 to 7 for the sevenths of (0, top].
    const double level = value > 0 ? std::ceil(value / top * 7) : 0;
    result += eighths_tall[static_cast<std::size_t>(std::clamp(level, 0.0, 7.0))];
  }
  return result;
}

}  // namespace foretoken
