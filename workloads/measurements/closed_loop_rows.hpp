// What readers of tables of closed-loop points share: a row is a point, or says why it is none.
#pragma once

#include <memory>
#include <string>

#include "workloads/measurements/closed_loop_points.hpp"
#include "workloads/measurements/csv_rows.hpp"

namespace foretoken {

/// Thrown by a reader: why a row is no point.
struct NoPoint {
  std::string reason;
};

class ClosedLoopReader {
 public:
  virtual ~ClosedLoopReader() = default;
  /// Of the current row. Throws NoPoint, and ConfigError for text where a number belongs.
  [[nodiscard]] virtual ClosedLoopPoint read() const = 0;
  [[nodiscard]] virtual std::string id() const = 0;
};

/// nullptr for a file with other columns. `rows` must outlive the reader.
std::unique_ptr<ClosedLoopReader> silicon_reader(const CsvRows& rows);
std::unique_ptr<ClosedLoopReader> inferencex_reader(const CsvRows& rows);

/// A whole number from 1 to 1,000,000. Throws NoPoint.
int positive_cell(const CsvRows& rows, int column);
/// Times `factor`: milliseconds. Throws NoPoint.
double latency_cell(const CsvRows& rows, int column, double factor);

}  // namespace foretoken
