// The foretoken program as a process that a test starts, kills and waits for, and a look into the
// store that it leaves behind.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace foretoken {

class ProgramRun {
 public:
  /// Starts `arguments` (the first is the program) with output and errors in `log`.
  ProgramRun(const std::vector<std::string>& arguments, const std::filesystem::path& log);
  ~ProgramRun();
  ProgramRun(const ProgramRun&) = delete;
  ProgramRun& operator=(const ProgramRun&) = delete;

  void signal(int number) const;
  /// Its exit status, 128 + the signal that ended it.
  int wait();
  /// Without waiting.
  [[nodiscard]] bool has_ended() const;

 private:
  pid_t process_;
  bool is_over_ = false;
};

/// Runs to its end and returns the exit status.
int run_program(const std::vector<std::string>& arguments, const std::filesystem::path& log);

std::string text_of(const std::filesystem::path& file);

/// What a store says of its finished runs, wall times and dates included: whatever must never
/// change again. Empty if there is no store yet.
std::map<std::int64_t, std::string> finished_rows(const std::filesystem::path& store);
/// How many runs of a store are finished, be it a sweep's or a plan's; 0 if there is no store yet.
std::int64_t finished_runs(const std::filesystem::path& store);
/// Leases that were ever taken, of all runs.
std::int64_t attempts(const std::filesystem::path& store);
/// "ok", or what SQLite finds wrong with the file.
std::string integrity(const std::filesystem::path& store);

}  // namespace foretoken
