// A recorded trace in memory: when requests came, how long they were, which prefixes they shared.
// Rows are in order of arrival (a stable sort: rows of one date keep the file's order) and times
// count from the earliest. Which file format it came from is trace_format.hpp's business.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/quantity.hpp"

namespace foretoken {

/// One request as a line of a trace tells it.
struct TraceRow {
  std::int64_t arrival_ns = 0;  // from any origin; 0 if the format has no times
  int prompt_tokens = 1;
  int output_tokens = 1;
  std::vector<std::uint64_t> prefix_hashes;
};

/// What a load tool says of the traffic that it made; 0 = nothing.
struct ToldTraffic {
  double requests_per_s = 0;
  double burstiness = 0;  // as arrivals = "gamma" has it
  int users = 0;          // that wait for their answers, each
};

/// What a trace may hold, so that a file that unpacks to a thousand times its size does not take
/// the machine's memory: 1.6 GB of rows and as much of hashes. The largest public trace has 27
/// million rows (Azure's conversations of a week in 2024).
struct TraceLimits {
  std::size_t rows = 50'000'000;
  std::size_t hashes = 200'000'000;  // of all rows together
};

class Trace {
 public:
  /// Adds a row; finish() must follow the last. False, and nothing is added, beyond the limits.
  [[nodiscard]] bool add(const TraceRow& row, const TraceLimits& limits = {});
  /// Sorts by arrival and moves the earliest to 0.
  void finish();

  [[nodiscard]] std::size_t size() const { return rows_.size(); }
  [[nodiscard]] Seconds arrival(std::size_t row) const {
    return Seconds(static_cast<double>(rows_[row].arrival_ns) / 1e9);
  }
  [[nodiscard]] int prompt_tokens(std::size_t row) const { return rows_[row].prompt_tokens; }
  [[nodiscard]] int output_tokens(std::size_t row) const { return rows_[row].output_tokens; }
  [[nodiscard]] std::span<const std::uint64_t> prefix_hashes(std::size_t row) const {
    return {hashes_.data() + rows_[row].hashes_begin, rows_[row].hashes};
  }
  /// From the first arrival to the last.
  [[nodiscard]] Seconds span() const { return rows_.empty() ? Seconds() : arrival(size() - 1); }

  [[nodiscard]] bool shares_prefixes() const { return !hashes_.empty(); }
  /// Prompt tokens that one hash stands for, as the format has it.
  [[nodiscard]] int prefix_block_tokens() const { return origin_.prefix_block_tokens; }

  [[nodiscard]] const std::string& format() const { return origin_.format; }
  [[nodiscard]] bool has_arrivals() const { return origin_.has_arrivals; }
  /// Malformed lines that were left out on request.
  [[nodiscard]] std::int64_t skipped_lines() const { return origin_.skipped_lines; }

  /// Requests that failed, and were left out.
  [[nodiscard]] std::int64_t failed_requests() const { return origin_.failed_requests; }
  [[nodiscard]] const ToldTraffic& told() const { return origin_.told; }

  /// What the file's header called its columns; "" if it had none.
  [[nodiscard]] const std::string& columns() const { return origin_.columns; }

  struct Origin {
    std::string format;
    bool has_arrivals = true;
    std::string columns = {};
    int prefix_block_tokens = 0;
    std::int64_t skipped_lines = 0, failed_requests = 0;
    ToldTraffic told = {};
  };
  void set_origin(Origin origin) { origin_ = std::move(origin); }

 private:
  struct Row {
    std::int64_t arrival_ns;
    std::size_t hashes_begin;
    std::uint32_t hashes;
    std::int32_t prompt_tokens;
    std::int32_t output_tokens;
  };
  std::deque<Row> rows_;  // grows without a copy of what is there
  std::vector<std::uint64_t> hashes_;
  Origin origin_;
};

}  // namespace foretoken
