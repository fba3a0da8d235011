// Runs in one SQLite file: what was asked, who runs it, what came out. A row belongs to a question
// (all that an outcome depends on besides the keys of its run) and is found by these keys, so that
// another comparison, sweep or plan of the same scenario takes the runs that it shares with earlier
// ones. A sweep and a comparison say beforehand what they want, and take runs by a lease (owner,
// deadline) that its owner renews while it lives; a lease whose owner is gone or whose deadline has
// passed is anybody's, so that several processes share one store and a killed one costs nothing but
// the runs it was at. A plan, whose next run follows from the last outcome, looks and keeps. A
// finished row is committed before anything else happens and never changes again.
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
#include <vector>

#include "sim/planner/database.hpp"
#include "sim/planner/scenario_runner.hpp"

namespace foretoken {

/// Who takes runs, and what it knows of time and of others. A library has no clock of its own.
struct RunOwner {
  std::string name;             // unique among all who may use the store
  std::string host;             // of the machine
  double lease_s = 60;          // from a renewal to the deadline
  std::function<double()> now;  // seconds since 1970, on one clock for all of the machine
  /// Whether an owner is known to have ended; false where nobody can tell.
  std::function<bool(const std::string& owner)> is_gone;
};

/// The keys of a run as one JSON object, which a store knows it by: {"workload.rate":"4 /s"}.
std::string run_name(const RunRequest& request);

class RunStore {
 public:
  struct Counts {
    std::size_t wanted = 0, finished = 0, leased = 0;  // leased: in progress, anybody's
  };

  /// Opens or makes `path` (":memory:": for this process alone). Rows of other questions stay in
  /// the file and are not found. Another program's file, one of an older version and a damaged one
  /// are ConfigErrors.
  RunStore(const std::filesystem::path& path, const std::string& question);

  struct ReadOnly {};
  /// Opens what is there to look at: only find(), look_for() and each_finished() may be called.
  RunStore(ReadOnly, const std::filesystem::path& path, const std::string& question);

  /// nullopt: such a run has not finished.
  std::optional<RunOutcome> find(const RunRequest& request);
  /// Keeps an outcome for good, unless there is one.
  void keep(const RunRequest& request, const RunOutcome& outcome);
  /// How many outcomes find() has found, and keep() has kept.
  [[nodiscard]] std::size_t found() const { return found_; }
  [[nodiscard]] std::size_t kept() const { return kept_; }

  /// Says what is to be run; runs are called by their place in `requests` from here on. Throws
  /// ConfigError for a store that another machine is at.
  void want(const std::vector<RunRequest>& requests, RunOwner owner);
  /// The same of a store that is only read: of `requests`, those that it has.
  void look_for(const std::vector<RunRequest>& requests);
  /// Leases up to `count` wanted runs that are nobody's, the first ones first.
  std::vector<std::size_t> take(std::size_t count);
  /// Renews all leases of this owner; to be called at least three times a lease.
  void renew();
  /// Keeps an outcome for good. false: somebody else had finished the run in the meantime.
  bool finish(std::size_t run, const RunOutcome& outcome, double wall_s);
  /// Gives up all leases of this owner.
  void release();
  /// Wanted runs that failed are to be run again. Returns how many.
  std::size_t forget_failures();
  /// Of what is wanted.
  [[nodiscard]] Counts counts();
  /// Calls `row` for every finished run that is wanted, in order.
  void each_finished(const std::function<void(std::size_t run, RunOutcome outcome)>& row);
  [[nodiscard]] const RunOwner& owner() const { return owner_; }

 private:
  void make();
  void check_file();
  /// 0: none in the store.
  std::int64_t question_id(const std::string& question);
  void make_wanted();
  void check_rows();
  void check_machine();
  /// Leases of owners who are gone end now.
  void end_leases_of_the_gone();
  void give_up_leases(const std::string& owner);
  [[nodiscard]] std::string checksum(const std::string& name, const RunOutcome& outcome,
                                     const std::string& report) const;
  std::int64_t row_of(const std::string& name);
  /// 0: none in the store.
  std::int64_t known_row_of(const std::string& name);

  Database database_;
  std::int64_t question_ = 0;
  RunOwner owner_;
  std::vector<std::int64_t> rows_;  // of what is wanted
  std::vector<std::string> names_;
  std::size_t found_ = 0, kept_ = 0;
};

}  // namespace foretoken
