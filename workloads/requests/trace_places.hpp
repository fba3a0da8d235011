// From rows that name what they wait for to the trajectories of a trace: who belongs together, in
// which order, and when rows come that the file gives no time.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "workloads/requests/trace.hpp"

namespace foretoken {

class TracePlaces {
 public:
  /// Of the row that was added last, `row`, which stands at `line`.
  void add(std::size_t row, int line, const TracePlace& place);
  [[nodiscard]] bool empty() const { return placed_.empty(); }

  /// Gives `trace`, before its finish(), the trajectories of all its rows. `fail` is told of rows
  /// that wait for what is not there, or for themselves; these then wait for nothing.
  void resolve(Trace& trace, const std::function<void(int line, std::string message)>& fail);

 private:
  struct Wait {
    std::size_t row;
    Seconds delay;
    bool for_start;
  };
  struct Placed {
    std::size_t row;
    int line;
    TracePlace place;
    std::vector<Wait> waits = {};
  };
  using Fail = std::function<void(int line, std::string message)>;

  void look_up(const Fail& fail);
  std::vector<std::vector<std::size_t>> groups(std::size_t rows);
  TraceTrajectory in_order(Trace& trace, const std::vector<std::size_t>& rows, const Fail& fail);
  [[nodiscard]] Placed* placed(std::size_t row);

  std::vector<Placed> placed_;                                // by row
  std::unordered_map<std::string, std::size_t> row_of_;       // by id; looked up, never walked
  std::unordered_map<std::string, std::size_t> last_row_of_;  // by trajectory; likewise
};

}  // namespace foretoken
