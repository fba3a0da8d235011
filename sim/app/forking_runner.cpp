#include "sim/app/forking_runner.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>

#include "sim/base/error.hpp"
#include "sim/base/json.hpp"
#include "sim/planner/row_store.hpp"

namespace foretoken {
namespace {

volatile std::sig_atomic_t asked_to_stop = 0;

void on_stop(int) { asked_to_stop = 1; }

void catch_stops(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;  // without SA_RESTART: poll() has to come back
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

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

RunOutcome outcome_of(const std::function<Value(const RunRequest&)>& run,
                      const RunRequest& request) {
  try {
    return {RunStatus::ran, "", run(request)};
  } catch (const ConfigError& error) {
    return {RunStatus::infeasible, messages_of(error), {}};
  } catch (const std::exception& error) {
    return {RunStatus::failed, one_line(error.what()), {}};
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

[[noreturn]] void throw_system_error(std::string_view what) {
  throw std::runtime_error(fmt::format("{}: {}", what, std::strerror(errno)));
}

}  // namespace

ForkingRunner::ForkingRunner(std::size_t slots, std::function<Value(const RunRequest&)> run)
    : slots_(slots > 0 ? slots : std::max(1U, std::thread::hardware_concurrency())),
      run_(std::move(run)) {
  asked_to_stop = 0;
  catch_stops(on_stop);
}

ForkingRunner::~ForkingRunner() {
  for (const Child& child : children_) {
    kill(child.process, SIGKILL);
    close(child.pipe);
    waitpid(child.process, nullptr, 0);
  }
  catch_stops(SIG_DFL);
}

void ForkingRunner::start(std::size_t ticket, const RunRequest& request) {
  int ends[2];
  if (pipe(ends) != 0) throw_system_error("cannot make a pipe");
  std::fflush(nullptr);  // or the child would print what is still buffered here
  const pid_t process = fork();
  if (process < 0) throw_system_error("cannot start a process");
  if (process == 0) {
    catch_stops(SIG_DFL);
    close(ends[0]);
    const bool told = write_all(ends[1], to_json(outcome_value(outcome_of(run_, request)), -1));
    _exit(told ? 0 : 1);
  }
  close(ends[1]);
  children_.push_back({ticket, process, ends[0], {}});
}

ScenarioRunner::Finished ForkingRunner::collect(Child child) const {
  int status = 0;
  while (waitpid(child.process, &status, 0) < 0 && errno == EINTR) {
  }
  close(child.pipe);
  RunOutcome outcome;
  if (WIFSIGNALED(status)) {
    outcome = {RunStatus::failed,
               fmt::format("the run was ended by signal {} ({})", WTERMSIG(status),
                           strsignal(WTERMSIG(status))),
               {}};
  } else {
    outcome = read_outcome(parse_json(child.text, {"a run's outcome"}));
  }
  return {child.ticket, std::move(outcome)};
}

std::optional<ScenarioRunner::Finished> ForkingRunner::wait() {
  FORETOKEN_CHECK(!children_.empty(), "nothing runs that could finish");
  for (;;) {
    if (asked_to_stop != 0) return std::nullopt;
    std::vector<pollfd> waiting;
    for (const Child& child : children_) waiting.push_back({child.pipe, POLLIN, 0});
    if (poll(waiting.data(), waiting.size(), -1) < 0) {
      if (errno == EINTR) continue;
      throw_system_error("cannot wait for runs");
    }
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
