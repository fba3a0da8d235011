// Outcomes of runs in one SQLite file, by what was asked: a search whose next run follows from the
// last one's outcome goes on from it after being killed, and another search finds the runs that it
// shares with earlier ones. Unlike a RunStore it does not know beforehand what is to be run, and
// gives out no leases: two searches on one file at once may both make a run, and the first outcome
// stays (they are equal).
//
// Committed as RunStore's rows are: an outcome whose keep() had returned is there after a kill or a
// power cut.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "sim/planner/database.hpp"
#include "sim/planner/scenario_runner.hpp"

namespace foretoken {

/// All that tells one run of a question from another: its keys, a line each.
std::string request_name(const RunRequest& request);

class OutcomeStore {
 public:
  /// Opens or makes `path`. `question` says all that an outcome depends on besides the keys of its
  /// request; outcomes of other questions stay in the file and are not found. Another program's
  /// file and a damaged one are ConfigErrors.
  OutcomeStore(const std::filesystem::path& path, const std::string& question);

  /// Throws ConfigError for a row that is not as it was written.
  std::optional<RunOutcome> find(const RunRequest& request);
  /// Keeps an outcome for good.
  void keep(const RunRequest& request, const RunOutcome& outcome);

  /// How many outcomes find() has found, and keep() has kept.
  [[nodiscard]] std::size_t found() const { return found_; }
  [[nodiscard]] std::size_t kept() const { return kept_; }

 private:
  Database database_;
  std::int64_t question_ = 0;
  std::size_t found_ = 0, kept_ = 0;
};

}  // namespace foretoken
