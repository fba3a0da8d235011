#include "sim/processes/child_processes.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstring>

#include "sim/base/error.hpp"
#include "sim/base/json.hpp"

namespace foretoken {
namespace {

std::string one_line(std::string text) {
  for (std::size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at)) {
    text.replace(at, 1, "; ");
  }
  return text;
}

/// Without the places: every layout's mistake stands at the same --set.
std::string messages_of(const ConfigError& error) {
  std::string text;
  for (const Diagnostic& diagnostic : error.diagnostics()) {
    text += (text.empty() ? "" : "; ") + diagnostic.message;
  }
  return one_line(text);
}

[[noreturn]] void throw_system_error(std::string_view what) {
  throw std::runtime_error(fmt::format("{}: {}", what, std::strerror(errno)));
}

/// Ctrl-C goes to the whole process group; what becomes of a child is its parent's business, and a
/// parent that is killed takes its children along.
void follow_parent(pid_t parent) {
  std::signal(SIGINT, SIG_IGN);
  std::signal(SIGTERM, SIG_DFL);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);  // it was killed before it could be followed
}

int milliseconds(const std::optional<double>& patience_s) {
  return patience_s ? static_cast<int>(std::ceil(*patience_s * 1000)) : -1;
}

}  // namespace

std::string told(const Value& outcome) { return to_json(outcome, -1); }

Value read_told(const std::string& text) { return parse_json(text, {"a job's outcome"}); }

void catch_failure(const std::function<void()>& job, RunStatus& status, std::string& message) {
  const auto fail = [&](RunStatus how, std::string why) {
    status = how;
    message = std::move(why);
  };
  try {
    job();
  } catch (const ConfigError& error) {
    fail(RunStatus::infeasible, messages_of(error));
  } catch (const PredictionError& error) {
    fail(RunStatus::infeasible, "cannot be priced: " + one_line(error.what()));
  } catch (const std::exception& error) {
    fail(RunStatus::failed, one_line(error.what()));
  }
}

bool write_all(int pipe, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t count = write(pipe, text.data() + done, text.size() - done);
    if (count < 0 && errno != EINTR) return false;
    if (count > 0) done += static_cast<std::size_t>(count);
  }
  return true;
}

ChildProcesses::~ChildProcesses() { kill_all(); }

void ChildProcesses::kill_all() {
  for (const Child& child : children_) {
    kill(child.process, SIGKILL);
    close(child.pipe);
    waitpid(child.process, nullptr, 0);
  }
  children_.clear();
}

void ChildProcesses::start(std::size_t ticket, const Body& body) {
  int ends[2];
  if (pipe(ends) != 0) throw_system_error("cannot make a pipe");
  std::fflush(nullptr);  // or the child would print what is still buffered here
  const pid_t parent = getpid();
  const pid_t process = fork();
  if (process < 0) throw_system_error("cannot start a process");
  if (process == 0) {
    follow_parent(parent);
    close(ends[0]);
    _exit(body(ends[1]));
  }
  close(ends[1]);
  children_.push_back({ticket, process, ends[0], {}});
}

ChildProcesses::Ended ChildProcesses::collect(Child child) {
  int status = 0;
  while (waitpid(child.process, &status, 0) < 0 && errno == EINTR) {
  }
  close(child.pipe);
  std::string failure;
  if (WIFSIGNALED(status)) {
    failure = fmt::format("the run was ended by signal {} ({})", WTERMSIG(status),
                          strsignal(WTERMSIG(status)));
  } else if (child.text.empty()) {
    failure = fmt::format("the run ended with status {} and without a word", WEXITSTATUS(status));
  }
  return {child.ticket, std::move(child.text), std::move(failure)};
}

std::optional<ChildProcesses::Ended> ChildProcesses::poll(std::optional<double> patience_s) {
  std::vector<pollfd> waiting;
  for (const Child& child : children_) waiting.push_back({child.pipe, POLLIN, 0});
  for (;;) {
    const int ready = ::poll(waiting.data(), waiting.size(), milliseconds(patience_s));
    if (ready < 0 && errno != EINTR) throw_system_error("cannot wait for runs");
    if (ready <= 0) return std::nullopt;
    for (std::size_t i = 0; i < children_.size(); ++i) {
      if (waiting[i].revents == 0) continue;
      char buffer[1 << 16];
      const ssize_t count = read(children_[i].pipe, buffer, sizeof buffer);
      if (count < 0 && errno == EINTR) continue;
      if (count > 0) {
        children_[i].text.append(buffer, static_cast<std::size_t>(count));
        continue;
      }
      Child child = std::move(children_[i]);
      children_.erase(children_.begin() + static_cast<std::ptrdiff_t>(i));
      return collect(std::move(child));
    }
  }
}

}  // namespace foretoken
