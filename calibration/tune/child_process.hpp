// A program in a process of its own that answers lines with lines: whatever happens there (a hang,
// a fault, nonsense on its output) costs its user one answer. POSIX.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace foretoken::tune {

class ChildProcess {
 public:
  /// Starts command[0] (searched in PATH) with the rest as its arguments. The child dies with us.
  explicit ChildProcess(const std::vector<std::string>& command);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  enum class Outcome { line, timeout, ended };
  struct Answer {
    Outcome outcome = Outcome::ended;
    std::string text;  // the line without its end; what came before the end, if it ended
  };

  /// Sends `text` and a line end, and waits for a line. The time limit covers both.
  Answer ask(const std::string& text, std::chrono::milliseconds limit);
  /// Sends `text`, closes the child's input and collects all it writes until it ends. Outcome::line
  /// if it ended by itself with status 0 within the limit.
  Answer finish(const std::string& text, std::chrono::milliseconds limit);
  /// Kills the child if it still runs, and says how it ended: "exit status 3", "signal 11".
  std::string end();

 private:
  using Deadline = std::chrono::steady_clock::time_point;
  bool send(const std::string& text, Deadline deadline);
  /// Reads what there is into rest_; Outcome::line means something was read.
  Outcome read_some(Deadline deadline);
  void reap(bool wait);

  pid_t pid_ = -1;
  int socket_ = -1;
  std::optional<int> status_;
  std::string rest_;
};

}  // namespace foretoken::tune
