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
/// Throws ConfigError if the file cannot be written or can_draw() is false.
void write_png(const Chart& chart, const std::string& path);

}  // namespace foretoken::tune
