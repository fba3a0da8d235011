// A line chart with bands, as a PNG; its legend lists curves as they end, highest first, with their
// last value. One file a chart; drawn with cairo where the program was built with it.
#pragma once

#include <string>
#include <vector>

namespace foretoken::tune {

struct Curve {
  std::string name;
  std::vector<double> x, y, low, high;  // low and high: a band, or empty
};

struct Chart {
  std::string title, subtitle, x_label, y_label;
  std::vector<Curve> curves;
  bool is_logarithmic = false;  // y
};

/// Whether charts can be drawn at all.
bool can_draw();
/// The bytes of a PNG. Only where can_draw().
std::string png_of(const Chart& chart);

}  // namespace foretoken::tune
