// The inverse question: how much of this traffic does a given cluster hold at the SLO, and what
// would other hardware be worth? Candidates are whole clusters here: as many replicas as the
// scenario says, or as there is room for. Each answer is a search of the load by bisection; changed
// hardware is the same cluster with a quantity scaled ([cluster.scale]). Several models keep their
// shares of the load, and it holds if each of them meets the SLO.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/planner/plan/plan_confidence.hpp"
#include "sim/planner/plan/plan_space.hpp"

namespace foretoken {

/// "gpu.dram_bandwidth=+20%" as a key of [cluster.scale] and a factor.
struct HardwareChange {
  std::string text;  // as it was asked for
  std::string quantity;
  double factor = 1;

  /// "+20%", "-10%", "x2" or "*2"; a leading "gpu." or "cluster." may be left out. Throws
  /// ConfigError that names the nearest quantity.
  static HardwareChange parse(const std::string& text);
};

/// One of several models at the highest load of all.
struct ModelAtLoad {
  std::string name;
  double rate = 0;        // its requests a second
  double attainment = 1;  // share of them that met the SLO
  double ttft_p99_ms = 0, tpot_p99_ms = 0;
};

/// Highest load of one deployment, in requests a second.
struct LoadAnswer {
  double holds = 0;             // 0: not even the least
  std::optional<double> fails;  // the lowest known to fail
  std::string impossible = {};
  std::vector<double> metrics = {};  // figures() at `holds`
  double half_width = 0;             // of a step's time
  Interval interval = {};            // of `holds`, if steps are as long or as short as they may be
  std::vector<ModelAtLoad> models = {};  // empty: there is one
  bool is_open = false;                  // stopped before the highest was found: `holds` at least
  bool is_sustained = true;              // as HighestLoad says

  /// Of several models the one that meets the SLO least: it is the first to miss it.
  [[nodiscard]] const ModelAtLoad* tightest() const;
};

struct MaxLoadRow {
  std::size_t candidate = 0;
  LoadAnswer base;
  std::vector<LoadAnswer> changed;  // as the changes
};

struct MaxLoad {
  PlanSettings settings;
  PlanSpace space;
  std::vector<HardwareChange> changes;
  std::vector<MaxLoadRow> rows;     // in the order of the candidates
  std::optional<std::size_t> best;  // holds most of a dollar's worth of hardware
  std::size_t runs = 0;
  bool is_complete = true;
  std::vector<std::string> overrides = {};  // keys that were set for all runs
  Changes run = {};  // the keys of the best's run at its highest load; empty: none

  /// What a row is about.
  [[nodiscard]] const PlanCandidate& candidate_of(std::size_t row) const {
    return space.candidates[rows[row].candidate];
  }
  /// USD for a million output tokens at the highest load.
  [[nodiscard]] double dollars_per_million(std::size_t row, const LoadAnswer& answer) const;
  /// What a GPU may cost an hour for the changed hardware to be worth it: tokens for the same
  /// money.
  [[nodiscard]] double break_even_factor(const MaxLoadRow& row, std::size_t change) const;
};

struct MaxLoadOptions {
  std::vector<HardwareChange> changes = {};
  bool wants_intervals = true;
  PlanRuns::Progress progress = {};
  RunStore* store = nullptr;  // where outcomes are looked for and kept
};

/// Throws ConfigError as plan_space() does.
MaxLoad find_max_load(const PlanSettings& settings, const LoadScenario& load,
                      ScenarioRunner& runner, const MaxLoadOptions& options);

/// `scenario` is the file's name, for the command that runs the best at its highest load.
std::string max_load_table(const MaxLoad& answer, const std::string& scenario, bool colour,
                           int width);
std::string max_load_csv(const MaxLoad& answer);
Value max_load_value(const MaxLoad& answer);

}  // namespace foretoken
