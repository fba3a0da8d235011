// When requests come: the family behind `arrivals = "..."`. A variant is one .cpp in arrivals/ and
// one line in its catalog. It reads its own keys of the [workload] table, draws from the stream
// "arrivals" alone, and knows nothing of lengths, limits or time transforms.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/random.hpp"
#include "sim/base/registry.hpp"
#include "sim/base/table_reader.hpp"
#include "workloads/requests/trace.hpp"

namespace foretoken {

struct Arrival {
  Seconds time;
  std::optional<std::size_t> trace_row;  // the row, or trajectory, of a trace that arrives
};

/// A running process: arrivals in order of time, the first at 0 or later.
class ArrivalTimes {
 public:
  virtual ~ArrivalTimes() = default;

  /// The next arrival, or nullopt: for good, or (closed loop) until one ends.
  virtual std::optional<Arrival> next() = 0;

  /// A request ended at `now`; calls come in order of time.
  virtual void on_finished(Seconds now) { (void)now; }

  /// What arrived at `now`, or before, will not be served: its user goes on as from an answer. An
  /// arrival may lie ahead of ends that are still to come.
  virtual void on_given_up(Seconds now) { on_finished(now); }
};

/// An arrival process that was read and validated.
class ArrivalProcess {
 public:
  virtual ~ArrivalProcess() = default;

  /// A fresh run. `random` is the stream "arrivals" at its beginning.
  [[nodiscard]] virtual std::unique_ptr<ArrivalTimes> start(RandomStream random) const = 0;

  /// Sets the process's own keys, defaults filled in, in the [workload] table.
  virtual void describe(Value& table) const = 0;

  /// Whether it ends by itself; if not, the scenario must limit it.
  [[nodiscard]] virtual bool is_finite() const { return false; }

  /// Whether users wait for their answers (closed loop), so that time cannot be transformed.
  [[nodiscard]] virtual bool waits_for_answers() const { return false; }

  /// Whether a user may come back sooner than another whose answer ended before: what next() gives
  /// is not in order of time then, once somebody has finished.
  [[nodiscard]] virtual bool overtakes() const { return false; }
};

/// What a variant may need besides its keys.
struct ArrivalInputs {
  std::shared_ptr<const Trace> trace;    // null if the table names none
  std::optional<std::int64_t> requests;  // the table's limit, if it has one
};

struct ArrivalVariant {
  std::vector<KeyNote> keys;  // of the [workload] table
  std::function<std::unique_ptr<ArrivalProcess>(TableReader&, const ArrivalInputs&)> make;
};

using ArrivalRegistry = Registry<ArrivalVariant>;

/// poisson, gamma, interval, profile, closed_loop, all_at_once, trace.
ArrivalRegistry arrival_registry();

/// The key `rate`, from 1e-9 to 1e9 a second.
PerSecond read_rate(TableReader& table);

/// Reports `key` unless `time` is from 0 s (itself only if `zero_is_fine`) to 1e10 s, some 300
/// years: what lies beyond is a slip of the pen, and would lose the microseconds.
void expect_time(TableReader& table, std::string_view key, Seconds time, bool zero_is_fine);

}  // namespace foretoken
