// The runs of a sweep in one SQLite file: what is to be run, who runs it, what came out. A run is
// taken by a lease (owner, deadline) that its owner renews while it lives; a lease whose owner is
// gone or whose deadline has passed is anybody's, so that several processes share one store and a
// killed one costs nothing but the runs it was at. A finished row is committed before anything
// else happens and never changes again.
//
// Write-ahead log, synchronous = FULL: a commit is one append that is flushed to the disk, so a
// killed process, or a machine that loses power, keeps every row whose finish() had returned; a
// half-written append fails its checksum and is dropped on the next opening. The log needs memory
// that all users share, hence one machine at a time; a store that another machine is at is refused.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/planner/database.hpp"
#include "sim/planner/scenario_runner.hpp"

namespace foretoken {

/// What the rows depend on: a store that says otherwise is refused.
struct StoreQuestion {
  struct Part {
    std::string name;   // "vary"
    std::string value;  // "--vary workload.rate=4,8"
    std::string title;  // what a person calls it: "other values"
  };
  std::vector<Part> parts;
};

/// Who takes runs, and what it knows of time and of others. A library has no clock of its own.
struct RunOwner {
  std::string name;             // unique among all who may use the store
  std::string host;             // of the machine
  double lease_s = 60;          // from a renewal to the deadline
  std::function<double()> now;  // seconds since 1970, on one clock for all of the machine
  /// Whether an owner is known to have ended; false where nobody can tell.
  std::function<bool(const std::string& owner)> is_gone;
};

class RunStore {
 public:
  struct Counts {
    std::size_t wanted = 0, finished = 0, leased = 0;  // leased: in progress, anybody's
  };

  /// Opens or makes `path`. `settings` are the runs in the plan's order, each as JSON. Another
  /// question, another program's file, a damaged one and a store in use on another machine are
  /// ConfigErrors.
  RunStore(const std::filesystem::path& path, const StoreQuestion& question,
           const std::vector<std::string>& settings, RunOwner owner);

  /// Leases up to `count` runs that are nobody's, the plan's first ones first.
  std::vector<std::size_t> take(std::size_t count);
  /// Renews all leases of this owner; to be called at least three times a lease.
  void renew();
  /// Keeps an outcome for good. false: somebody else had finished the run in the meantime.
  bool finish(std::size_t run, const RunOutcome& outcome, double wall_s);
  /// Gives up all leases of this owner.
  void release();
  /// Failed runs are to be run again. Returns how many.
  std::size_t forget_failures();

  [[nodiscard]] Counts counts();
  /// Calls `row` for every finished run in the plan's order.
  void each_finished(const std::function<void(std::size_t run, RunOutcome outcome)>& row);
  [[nodiscard]] const RunOwner& owner() const { return owner_; }

 private:
  void make(const StoreQuestion& question, const std::vector<std::string>& settings);
  void check_question(const StoreQuestion& question);
  void check_machine();
  /// Every row is one of the plan's, and every finished one as it was written.
  void check_rows(const std::vector<std::string>& settings);
  /// Leases of owners who are gone end now.
  void end_leases_of_the_gone();
  void give_up_leases(const std::string& owner);

  Database database_;
  RunOwner owner_;
  std::vector<std::string> settings_;
};

}  // namespace foretoken
