// Runs scenarios on all ranks of an MPI job, from rank 0: a ScenarioRunner like the one that forks,
// so that whoever uses it need not know of ranks. Rank 0 alone knows the results and writes them;
// the others take runs and answer, and a beat says that they live. The runs of one that has been
// silent for too long are done by others; if it was only slow, whichever outcome comes first counts
// (they are equal). Rank 0 runs scenarios too.
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "sim/app/mpi/rank_messages.hpp"
#include "sim/app/mpi/run_process.hpp"
#include "sim/processes/child_processes.hpp"
#include "sim/processes/stop_signal.hpp"

namespace foretoken {

/// What both ends of a job have to agree on, as text: a rank with another foretoken or another
/// scenario file is left out.
std::string agreement(const RunProgram& program);

class RankRunner final : public ScenarioRunner {
 public:
  /// Waits a moment for the ranks to report. `silence_s`: after which a rank counts as dead.
  RankRunner(RankMessages& messages, RunProgram program, std::size_t slots, double silence_s);
  /// Tells the ranks that there is nothing more to do.
  ~RankRunner() override;

  [[nodiscard]] std::size_t slots() const override;
  void start(std::size_t ticket, const RunRequest& request) override;
  std::optional<Finished> wait() override;
  /// Waits with nothing running. false: the user asked to stop.
  bool pause(double seconds);

 private:
  using Clock = std::chrono::steady_clock;
  struct Rank {
    std::string host;
    std::size_t slots = 0;  // 0: has not reported, or is left out
    std::set<std::size_t> running;
    Clock::time_point heard;
    bool is_silent = false;
  };

  /// Looks at messages, beats and the own children; waits a few milliseconds for the latter.
  void look();
  void hear(const RankMessages::Received& message);
  void welcome(int rank, const std::string& text);
  void hand_out();
  void watch_ranks();
  void keep(std::size_t ticket, RunOutcome outcome);
  /// The living rank with the most free slots, the first of equals; -1: all are busy.
  [[nodiscard]] int free_rank() const;

  RankMessages& messages_;
  RunProgram program_;
  std::string agreement_;
  Clock::duration silence_;
  StopSignal stop_;
  ChildProcesses children_;  // of rank 0
  std::vector<Rank> ranks_;
  std::map<std::size_t, RunRequest> wanted_;  // started and not finished
  std::deque<std::size_t> queue_;             // of these, those that no rank has
  std::deque<Finished> finished_;
  Clock::time_point beat_, ticked_;
};

/// What every other rank does: takes runs from rank 0 until that says stop.
void serve_runs(RankMessages& messages, const RunProgram& program, std::size_t slots,
                double silence_s);

}  // namespace foretoken
