// Child processes that each do one job and tell what came of it through a pipe, as one text. A
// child that dies takes no other with it, and none outlives this process.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/planner/outcome.hpp"

namespace foretoken {

class ChildProcesses {
 public:
  /// In the child: writes an outcome to `pipe` and returns the exit status.
  using Body = std::function<int(int pipe)>;
  struct Ended {
    std::size_t ticket = 0;
    std::string text;     // what the child told
    std::string failure;  // why it told nothing, or not all; "" = it did
  };

  ChildProcesses() = default;
  /// Kills what still runs.
  ~ChildProcesses();
  ChildProcesses(const ChildProcesses&) = delete;
  ChildProcesses& operator=(const ChildProcesses&) = delete;

  void start(std::size_t ticket, const Body& body);
  [[nodiscard]] std::size_t running() const { return children_.size(); }
  /// The next that finishes, if one does within `patience_s` (nullopt: however long that takes).
  /// A signal ends the wait too.
  std::optional<Ended> poll(std::optional<double> patience_s);
  void kill_all();

 private:
  struct Child {
    std::size_t ticket;
    int process;
    int pipe;
    std::string text;
  };
  static Ended collect(Child child);

  std::vector<Child> children_;
};

/// An outcome as a child tells it, and as its parent reads it.
std::string told(const Value& outcome);
Value read_told(const std::string& text);

template <class Answer>
Finished<Answer> finished_of(const ChildProcesses::Ended& ended) {
  if (!ended.failure.empty()) return {ended.ticket, {RunStatus::failed, ended.failure, {}}};
  return {ended.ticket, read_outcome<Answer>(read_told(ended.text))};
}

/// Runs `job`; what it throws becomes the status and the message: a ConfigError or a
/// PredictionError is an infeasible job, anything else a failed one.
void catch_failure(const std::function<void()>& job, RunStatus& status, std::string& message);

template <class Answer>
Outcome<Answer> outcome_of(const std::function<Answer()>& job) {
  Outcome<Answer> outcome;
  catch_failure([&] { outcome.report = job(); }, outcome.status, outcome.message);
  return outcome;
}

/// Writes all of `text`; false if nobody reads it.
bool write_all(int pipe, const std::string& text);

}  // namespace foretoken
