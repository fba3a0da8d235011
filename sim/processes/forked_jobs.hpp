// Jobs in child processes, several at a time: a process simulates once, and a job that dies takes
// no other with it. What a job finds out comes back as the type that it is.
#pragma once

#include <functional>
#include <optional>

#include "sim/processes/child_processes.hpp"
#include "sim/processes/stop_signal.hpp"

namespace foretoken {

/// So many, or as many as there are processors.
std::size_t slots_or_processors(std::size_t slots);

/// The next child that ends; `tick` is called about every `period_s` until then. nullopt after a
/// signal to stop.
std::optional<ChildProcesses::Ended> wait_for_child(ChildProcesses& children,
                                                    std::optional<double> period_s,
                                                    const std::function<void()>& tick);

template <class Answer>
class ForkedJobs {
 public:
  /// `slots` 0: one for each processor.
  explicit ForkedJobs(std::size_t slots) : slots_(slots_or_processors(slots)) {}

  [[nodiscard]] std::size_t slots() const { return slots_; }
  /// `job` is called in the child. A ConfigError thrown there is an infeasible job, anything else a
  /// failed one.
  void start(std::size_t ticket, const std::function<Answer()>& job) {
    children_.start(ticket, [&](int pipe) {
      return write_all(pipe, told(outcome_value(outcome_of<Answer>(job)))) ? 0 : 1;
    });
  }
  /// nullopt after SIGINT or SIGTERM, which this class catches while it lives.
  std::optional<Finished<Answer>> wait(std::optional<double> period_s = std::nullopt,
                                       const std::function<void()>& tick = {}) {
    const auto ended = wait_for_child(children_, period_s, tick);
    if (!ended) return std::nullopt;
    Finished<Answer> finished = finished_of<Answer>(*ended);
    // A signal to all processes of a group ends jobs too; that is no failure of theirs.
    if (StopSignal::asked() && finished.outcome.status == RunStatus::failed) return std::nullopt;
    return finished;
  }

 private:
  std::size_t slots_;
  StopSignal stop_;
  ChildProcesses children_;
};

}  // namespace foretoken
