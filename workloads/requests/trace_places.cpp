#include "workloads/requests/trace_places.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace foretoken {
namespace {

/// Who belongs together: a forest whose roots are the earliest rows.
class Groups {
 public:
  explicit Groups(std::size_t rows) : parents_(rows) {
    std::iota(parents_.begin(), parents_.end(), std::size_t{0});
  }

  std::size_t root(std::size_t row) {
    while (parents_[row] != row) row = parents_[row] = parents_[parents_[row]];
    return row;
  }
  void join(std::size_t a, std::size_t b) {
    a = root(a), b = root(b);
    parents_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<std::size_t> parents_;
};

std::int64_t later(std::int64_t time_ns, Seconds delay) {
  return time_ns + static_cast<std::int64_t>(delay.value() * 1e9);
}

}  // namespace

void TracePlaces::add(std::size_t row, int line, const TracePlace& place) {
  placed_.push_back({row, line, place});
}

TracePlaces::Placed* TracePlaces::placed(std::size_t row) {
  const auto found = std::ranges::lower_bound(placed_, row, {}, &Placed::row);
  return found == placed_.end() || found->row != row ? nullptr : &*found;
}

/// Names become rows.
void TracePlaces::look_up(const Fail& fail) {
  for (const Placed& each : placed_) {
    if (each.place.id.empty()) continue;
    if (!row_of_.emplace(each.place.id, each.row).second)
      fail(each.line, fmt::format("\"{}\" names two requests", each.place.id));
  }
  for (Placed& each : placed_) {
    for (const NamedWait& wait : each.place.waits_for) {
      const auto found = row_of_.find(wait.id);
      if (found != row_of_.end()) {
        const Seconds delay(static_cast<double>(wait.delay_ns) / 1e9);
        each.waits.push_back({found->second, delay, wait.for_start});
      } else if (!each.place.may_be_cut) {
        fail(each.line, fmt::format("waits for \"{}\", which is not in this file", wait.id));
      }
    }
    if (each.place.trajectory.empty()) continue;
    const auto [last, is_first] = last_row_of_.try_emplace(each.place.trajectory, each.row);
    if (!is_first && each.place.after_previous_ns) {
      const Seconds delay(static_cast<double>(*each.place.after_previous_ns) / 1e9);
      each.waits.push_back({last->second, delay, false});
    }
    last->second = each.row;
  }
}

/// The rows of each trajectory, in the file's order; those without a place are alone.
std::vector<std::vector<std::size_t>> TracePlaces::groups(std::size_t rows) {
  Groups groups(rows);
  std::unordered_map<std::string_view, std::size_t> first_of;
  for (const Placed& each : placed_) {
    for (const Wait& wait : each.waits) groups.join(each.row, wait.row);
    if (each.place.trajectory.empty()) continue;
    groups.join(each.row, first_of.try_emplace(each.place.trajectory, each.row).first->second);
  }
  constexpr auto none = std::numeric_limits<std::size_t>::max();
  std::vector<std::size_t> number(rows, none);
  std::vector<std::vector<std::size_t>> all;
  for (std::size_t row = 0; row < rows; ++row) {
    std::size_t& its = number[groups.root(row)];
    if (its == none) {
      its = all.size();
      all.emplace_back();
    }
    all[its].push_back(row);
  }
  return all;
}

/// Rows behind those that they wait for, by their times else. Rows without a time get the earliest
/// that they can come at. One that waits for nothing comes as long after the first as recorded.
TraceTrajectory TracePlaces::in_order(Trace& trace, const std::vector<std::size_t>& rows,
                                      const Fail& fail) {
  std::unordered_map<std::size_t, int> call_of;  // looked up, never walked
  std::vector<std::size_t> open = rows;
  TraceTrajectory calls;
  std::size_t stuck = 0;
  const auto is_ready = [&](std::size_t row) {
    const Placed* its = placed(row);
    return its == nullptr || std::ranges::all_of(its->waits, [&](const Wait& wait) {
             return call_of.contains(wait.row);
           });
  };
  std::ranges::stable_sort(open, {}, [&](std::size_t row) { return trace.arrival_ns(row); });
  while (!open.empty()) {
    std::vector<std::size_t> left;
    for (const std::size_t row : open) {
      if (!is_ready(row)) {
        left.push_back(row);
        continue;
      }
      Placed* its = placed(row);
      TraceCall call{.row = row, .adds_to_text = its != nullptr && its->place.adds_to_text};
      std::int64_t earliest = std::numeric_limits<std::int64_t>::min();
      if (its != nullptr) {
        for (const Wait& wait : its->waits) {
          call.waits_for.push_back({call_of.at(wait.row), wait.delay, wait.for_start});
          earliest = std::max(earliest, later(trace.arrival_ns(wait.row), wait.delay));
        }
        if (!its->place.has_time && !its->waits.empty()) trace.set_arrival(row, earliest);
      }
      const bool is_bound = call.waits_for.empty() || (its != nullptr && its->place.is_not_earlier);
      if (is_bound && !calls.empty()) {
        const std::int64_t after = trace.arrival_ns(row) - trace.arrival_ns(calls.front().row);
        const Seconds delay(static_cast<double>(std::max<std::int64_t>(after, 0)) / 1e9);
        call.waits_for.push_back({0, delay, true});
      }
      call_of.emplace(row, static_cast<int>(calls.size()));
      calls.push_back(std::move(call));
    }
    if (left.size() == open.size()) {  // a circle: it is cut where it begins in the file
      Placed* its = placed(left.front());
      if (stuck++ == 0) fail(its->line, "waits for itself, through others");
      its->waits.clear();
    }
    open = std::move(left);
  }
  return calls;
}

void TracePlaces::resolve(Trace& trace, const Fail& fail) {
  look_up(fail);
  std::vector<TraceTrajectory> all;
  for (const std::vector<std::size_t>& rows : groups(trace.size()))
    all.push_back(in_order(trace, rows, fail));
  trace.set_trajectories(std::move(all));
}

}  // namespace foretoken
