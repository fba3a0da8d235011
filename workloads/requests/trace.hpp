// A recorded trace in memory: when requests came, how long they were, which prefixes they shared.
// Rows are in order of arrival (a stable sort: rows of one date keep the file's order) and times
// count from the earliest. Which file format it came from is trace_format.hpp's business.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
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
  [[nodiscard]] int prefix_block_tokens() const { return prefix_block_tokens_; }

  [[nodiscard]] const std::string& format() const { return format_; }
  [[nodiscard]] bool has_arrivals() const { return has_arrivals_; }
  /// Malformed lines that were left out on request.
  [[nodiscard]] std::int64_t skipped_lines() const { return skipped_lines_; }

  /// What the file's header called its columns; "" if it had none.
  [[nodiscard]] const std::string& columns() const { return columns_; }

  void set_origin(std::string format, bool has_arrivals, std::string columns,
                  int prefix_block_tokens, std::int64_t skipped_lines);

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
  std::string format_;
  bool has_arrivals_ = true;
  std::string columns_;
  int prefix_block_tokens_ = 0;
  std::int64_t skipped_lines_ = 0;
};

}  // namespace foretoken
