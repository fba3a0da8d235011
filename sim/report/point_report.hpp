// Measured points beside simulated ones, many at once: errors of mean TTFT and TPOT by model and
// engine, by number of users, and the points that are furthest off.
#pragma once

#include <string>
#include <vector>

#include "sim/base/value.hpp"

namespace foretoken {

struct ComparedPoint {
  std::string id, model, engine, layout;  // "TP4", "TP8 EP8"
  int users = 0, prompt_tokens = 0, output_tokens = 0;
  bool is_calibration = false;  // settings were chosen with it in view
  double measured_ttft_ms = 0, measured_tpot_ms = 0;
  double simulated_ttft_ms = 0, simulated_tpot_ms = 0;
  std::string failure;  // why it could not be simulated; "" = it was

  [[nodiscard]] double ttft_error() const { return simulated_ttft_ms / measured_ttft_ms - 1.0; }
  [[nodiscard]] double tpot_error() const { return simulated_tpot_ms / measured_tpot_ms - 1.0; }
};

struct PointReport {
  std::vector<ComparedPoint> points;  // in the order of the file
  std::int64_t left_out = 0;          // rows that do not say how many users a server had
};

std::string point_text(const PointReport& report, bool colour, int width, std::size_t worst);
Value point_value(const PointReport& report);
/// The page that `--report` writes. Throws ConfigError in a build that draws no charts.
std::string point_page(const PointReport& report, const std::string& version);

}  // namespace foretoken
