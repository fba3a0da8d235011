// The runs of a sweep: keys of the scenario with the values to try, all combinations or side by
// side, each with several seeds. The order of the plan is the order of everything that is written.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/planner/scenario_runner.hpp"

namespace foretoken {

struct VariedKey {
  std::string key;                  // "workload.rate"
  std::vector<std::string> values;  // as TOML, as they stand on the command line
};

/// "workload.rate=4 /s,8 /s": commas inside quotes, brackets and braces belong to a value. Throws
/// ConfigError for a form that is none, no values and one value twice.
VariedKey read_varied_key(std::string_view text);

enum class Combination { cartesian, zipped };

/// What stays the same for all seeds.
struct SweepPoint {
  std::vector<std::string> values;  // one a key
};

struct SweepPlan {
  std::vector<VariedKey> keys;
  std::vector<SweepPoint> points;    // the last key changes fastest
  std::vector<std::uint64_t> seeds;  // empty: the scenario's own

  [[nodiscard]] std::size_t seeds_a_point() const { return seeds.empty() ? 1 : seeds.size(); }
  [[nodiscard]] std::size_t runs() const { return points.size() * seeds_a_point(); }
  /// Runs are numbered by point, then by seed.
  [[nodiscard]] std::size_t point_of(std::size_t run) const { return run / seeds_a_point(); }
  [[nodiscard]] std::optional<std::uint64_t> seed_of(std::size_t run) const;
  [[nodiscard]] RunRequest request(std::size_t run) const;
  /// Of all runs, in order.
  [[nodiscard]] std::vector<RunRequest> requests() const;
};

/// `seeds` > 0: so many from `first_seed` on, for every point. Throws ConfigError if a key is there
/// twice, keys to be zipped have unequal numbers of values, or there is nothing to vary.
SweepPlan plan_sweep(std::vector<VariedKey> keys, Combination combination, std::size_t seeds,
                     std::uint64_t first_seed);

/// Whether a run could start; throws ConfigError with places at "--set key=value" if not.
using RunCheck = std::function<void(const RunRequest& request)>;

/// Throws, before anything runs, what is wrong whatever the values are: a key that is refused in
/// the same words in every run, and a scenario about which every run complains alike; and every
/// value that can never be read. One that cannot be in this scenario is a row of its own.
void check_sweep(const SweepPlan& plan, const RunCheck& check);

}  // namespace foretoken
