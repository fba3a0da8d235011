// Measured points beside simulated ones, many at once: errors of mean TTFT and TPOT by model and
// engine, by number of users, and the points that are furthest off; how many measured values lie
// within the simulation's intervals, and how much of what is left is the CPU's.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/value.hpp"
#include "sim/report/report.hpp"

namespace foretoken {

struct ComparedPoint {
  std::string id, model, engine, layout;  // "vllm 0.18.0"; "TP4", "TP8 EP8"
  std::string gpu;                        // "h200-sxm"
  std::string table;                      // name of the file that has it, without its endings
  std::string place;                      // where it stands: "points.csv.gz:3"
  int users = 0, prompt_tokens = 0, output_tokens = 0;
  bool is_calibration = false;  // settings were chosen with it in view
  /// Points of the same configuration differ so much that some must have drafted tokens, and no
  /// column says which: apart from the others, whatever comes of them.
  bool is_unclear = false;
  bool is_disaggregated = false;  // others compute its prompts
  double measured_ttft_ms = 0, measured_tpot_ms = 0;
  double simulated_ttft_ms = 0, simulated_tpot_ms = 0;
  double host_ms = 0;  // that GPUs waited for the CPU, a step, simulated
  std::optional<FigureInterval> ttft_interval, tpot_interval;  // of the simulated means
  std::string failure;  // why it could not be simulated; "" = it was

  [[nodiscard]] double ttft_error() const { return simulated_ttft_ms / measured_ttft_ms - 1.0; }
  [[nodiscard]] double tpot_error() const { return simulated_tpot_ms / measured_tpot_ms - 1.0; }
};

/// A row that is no point, and why.
struct LeftOutRow {
  std::string id;
  int line = 0;
  std::string reason;
  std::string file = {};
};

/// How often something kept rows from being simulated, and where it did first.
struct LeftOutCount {
  std::int64_t count = 0;
  std::string first;  // "points.csv.gz:3"; "" = not said

  /// " (points.csv.gz:3)", to follow the reason; with several rows "(first: …)".
  [[nodiscard]] std::string place_text() const;
};

/// calibration, test or unclear.
std::string part_name(const ComparedPoint& point);

struct PointReport {
  std::vector<ComparedPoint> points;  // in the order of the file
  std::vector<LeftOutRow> left_out;   // likewise

  /// What kept rows from being points, and points from being simulated, by reason.
  [[nodiscard]] std::map<std::string, LeftOutCount> reasons_left_out() const;
  [[nodiscard]] std::map<std::string, LeftOutCount> failures() const;
};

/// What is missing of the measured TPOTs of one model on one engine, by least squares: as host time
/// alone, and split into a part that goes with the simulated GPU time and one that goes with host
/// time. The two are alike where batches are, so that their standard error is large.
struct HostResidual {
  std::string model, engine;
  bool is_calibration = false;
  std::int64_t points = 0;
  double share = 0;  // of the simulated TPOT that is host time, mean
  // Relative: 0.1 = it would have to be 10 % longer.
  double alone = 0;           // host time, if GPU times are right
  double gpu = 0, host = 0;   // both
  double host_deviation = 0;  // standard error of `host`
};
/// Of every model and engine with host time and at least 20 points; in the order of the names.
std::vector<HostResidual> host_residuals(const PointReport& report);

/// The median of the sizes of errors; of an even number the mean of the middle two.
double median_size(std::vector<double> errors);

std::string point_text(const PointReport& report, bool colour, int width, std::size_t worst);
Value point_value(const PointReport& report);
/// A page in Markdown: errors by model, engine and GPU, by users, beside what others publish.
std::string point_scoreboard(const PointReport& report);
/// The page that `--report` writes. Throws ConfigError in a build that draws no charts.
std::string point_page(const PointReport& report, const std::string& version);

}  // namespace foretoken
