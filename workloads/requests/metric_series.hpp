// Prometheus' metrics in memory: what a server's /metrics page says (the text format), or what
// Prometheus' HTTP API answers to a query, instant or range. Only numbers that count up are of use
// here: what matters of a series is by how much it grew, restarts of the server included.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace foretoken {

struct MetricSeries {
  std::string name;
  std::map<std::string, std::string> labels;
  struct Point {
    double time_s = 0, value = 0;
  };
  std::vector<Point> points;  // in order of time

  /// From before the first point to the last: of one point its value.
  [[nodiscard]] double growth() const;
  /// At each point but the first; a value that falls began again from 0.
  [[nodiscard]] std::vector<Point> increments() const;
  [[nodiscard]] std::string label(const std::string& key) const;
};

/// All series of `files`. Pages of text are of times 0, `apart_s`, 2 `apart_s`, ...; a query's
/// answer has its own. Throws ConfigError with file and line.
std::vector<MetricSeries> load_metrics(const std::vector<std::filesystem::path>& files,
                                       double apart_s);

/// Whether a text begins as a page of metrics, or a query's answer.
bool is_metrics_page(std::string_view beginning);
bool is_query_answer(std::string_view beginning);

}  // namespace foretoken
