// A recorded trace in memory: when requests came, how long they were, which prefixes they shared,
// and which of them waited for which. Rows are in order of arrival (a stable sort: rows of one date
// keep the file's order) and times count from the earliest. Which file format it came from is
// trace_format.hpp's business.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/quantity.hpp"
#include "workloads/requests/trace_media.hpp"

namespace foretoken {

/// That a call waits for another of its trajectory, until some time after that one's end.
struct CallWait {
  int call = 0;
  Seconds delay = {};
  bool for_start = false;  // not for its end, but for it to be sent

  friend bool operator==(const CallWait&, const CallWait&) = default;
};

/// The same in a file, where calls have names.
struct NamedWait {
  std::string id;
  std::int64_t delay_ns = 0;
  bool for_start = false;
};

/// Where in a trajectory a request stands, as a file tells it. Rows that name one trajectory, or
/// that wait for each other, belong together.
struct TracePlace {
  std::string trajectory = {};  // "" = that of those it waits for
  std::string id = {};          // "" = nobody waits for it by name
  std::vector<NamedWait> waits_for = {};
  std::optional<std::int64_t> after_previous_ns = {};  // waits for the last row of its trajectory
  bool has_time = true;         // false: arrival_ns is unknown, what it waits for decides
  bool is_not_earlier = false;  // nor does it come before its time, counted from the first call's
  bool may_be_cut = false;      // those that it waits for may be missing: it then comes at its time
  bool adds_to_text = false;    // prompt_tokens are what it adds to all that was said before
};

/// One request as a line of a trace tells it.
struct TraceRow {
  std::int64_t arrival_ns = 0;  // from any origin; 0 if the format has no times
  int prompt_tokens = 1;
  int output_tokens = 1;
  std::vector<std::uint64_t> prefix_hashes;
  std::optional<TracePlace> place = std::nullopt;  // nullopt: a request for itself
  std::string model = {};                          // that it asked for; "" = not said
  std::vector<TraceItem> media = {};
};

/// A row that others wait for, or that waits.
struct TraceCall {
  std::size_t row = 0;
  std::vector<CallWait> waits_for = {};  // calls before it; only the first has none
  bool adds_to_text = false;
};

/// Calls in an order in which each stands behind those that it waits for.
using TraceTrajectory = std::vector<TraceCall>;

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
  /// Rows by number, in the order of add(). Needs a finish() behind it.
  void set_trajectories(std::vector<TraceTrajectory> trajectories);
  void set_arrival(std::size_t row, std::int64_t ns) { rows_[row].arrival_ns = ns; }
  [[nodiscard]] std::int64_t arrival_ns(std::size_t row) const { return rows_[row].arrival_ns; }
  /// Sorts by arrival and moves the earliest to 0.
  void finish();

  /// By the arrival of their first calls; empty if no row waits for another.
  [[nodiscard]] const std::vector<TraceTrajectory>& trajectories() const { return trajectories_; }
  /// Whether calls tell what they add to their trajectory's text, rather than whole prompts.
  [[nodiscard]] bool has_texts() const { return has_texts_; }
  /// Whether equal hashes mean equal prefixes within one trajectory alone.
  [[nodiscard]] bool hashes_are_local() const { return origin_.hashes_are_local; }

  [[nodiscard]] std::size_t size() const { return rows_.size(); }
  [[nodiscard]] Seconds arrival(std::size_t row) const {
    return Seconds(static_cast<double>(rows_[row].arrival_ns) / 1e9);
  }
  [[nodiscard]] int prompt_tokens(std::size_t row) const { return rows_[row].prompt_tokens; }
  [[nodiscard]] int output_tokens(std::size_t row) const { return rows_[row].output_tokens; }
  [[nodiscard]] std::span<const std::uint64_t> prefix_hashes(std::size_t row) const {
    return {hashes_.data() + rows_[row].hashes_begin, rows_[row].hashes};
  }
  [[nodiscard]] bool has(Medium medium) const {
    return has_medium_[static_cast<std::size_t>(medium)];
  }
  [[nodiscard]] std::span<const TraceItem> media(std::size_t row) const {
    const auto found = media_.find(row);
    return found == media_.end() ? std::span<const TraceItem>() : found->second;
  }
  /// That rows ask for, in the order of their first rows; empty: no row names one.
  [[nodiscard]] const std::vector<std::string>& models() const { return models_; }
  /// Of models(); nullopt: the row names none.
  [[nodiscard]] std::optional<std::size_t> model(std::size_t row) const {
    const std::int32_t model = rows_[row].model;
    return model < 0 ? std::nullopt : std::optional(static_cast<std::size_t>(model));
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
    bool hashes_are_local = false;
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
    std::int32_t model;  // of models_; -1: none
  };
  std::int32_t number_of(const std::string& model);
  /// Rows of trajectories, and those that have media, by what they become when sorted.
  void follow_sorting();

  std::deque<Row> rows_;  // grows without a copy of what is there
  std::vector<std::uint64_t> hashes_;
  std::map<std::size_t, std::vector<TraceItem>> media_;  // of the few rows that have some
  std::size_t media_total_ = 0;
  std::array<bool, all_media.size()> has_medium_{};
  std::vector<std::string> models_;
  std::vector<TraceTrajectory> trajectories_;
  bool has_texts_ = false;
  Origin origin_;
};

}  // namespace foretoken
