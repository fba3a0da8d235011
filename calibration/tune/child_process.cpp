#include "calibration/tune/child_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "sim/base/error.hpp"

namespace foretoken::tune {
namespace {

// More than any answer holds; a child that writes more is talking nonsense.
constexpr std::size_t answer_bytes_max = 64U << 20U;

int milliseconds_until(std::chrono::steady_clock::time_point deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      deadline - std::chrono::steady_clock::now());
  return static_cast<int>(std::max<std::int64_t>(left.count() + 1, 0));
}

}  // namespace

ChildProcess::ChildProcess(const std::vector<std::string>& command) {
  FORETOKEN_CHECK(!command.empty(), "no command");
  std::array<int, 2> ends{};
  FORETOKEN_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0,
                  "socketpair: {}", std::strerror(errno));
  std::vector<char*> arguments;
  for (const std::string& argument : command)
    arguments.push_back(const_cast<char*>(argument.data()));
  arguments.push_back(nullptr);
  const pid_t parent = getpid();
  pid_ = fork();
  FORETOKEN_CHECK(pid_ >= 0, "fork: {}", std::strerror(errno));
  if (pid_ == 0) {
    setpgid(0, 0);  // so that end() reaches what the child started itself
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127);
    dup2(ends[1], STDIN_FILENO);
    dup2(ends[1], STDOUT_FILENO);
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  setpgid(pid_, pid_);
  close(ends[1]);
  socket_ = ends[0];
}

ChildProcess::~ChildProcess() {
  end();
  close(socket_);
}

bool ChildProcess::send(const std::string& text, Deadline deadline) {
  std::size_t sent = 0;
  while (sent < text.size()) {
    // A child that answers before it has read all must not wait for us while we wait for it.
    pollfd waiting{socket_, POLLIN | POLLOUT, 0};
    if (poll(&waiting, 1, milliseconds_until(deadline)) <= 0) return false;
    if ((waiting.revents & POLLIN) != 0 && read_some(deadline) != Outcome::line) return false;
    if ((waiting.revents & POLLOUT) == 0) continue;
    const ssize_t bytes =
        ::send(socket_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (bytes < 0 && errno != EAGAIN && errno != EINTR) return false;
    if (bytes > 0) sent += static_cast<std::size_t>(bytes);
  }
  return true;
}

ChildProcess::Outcome ChildProcess::read_some(Deadline deadline) {
  pollfd waiting{socket_, POLLIN, 0};
  const int ready = poll(&waiting, 1, milliseconds_until(deadline));
  if (ready == 0) return Outcome::timeout;
  std::array<char, 65536> piece{};
  const ssize_t bytes = recv(socket_, piece.data(), piece.size(), 0);
  if (bytes <= 0) return Outcome::ended;
  rest_.append(piece.data(), static_cast<std::size_t>(bytes));
  return rest_.size() > answer_bytes_max ? Outcome::ended : Outcome::line;
}

ChildProcess::Answer ChildProcess::ask(const std::string& text, std::chrono::milliseconds limit) {
  const Deadline deadline = std::chrono::steady_clock::now() + limit;
  if (!send(text + '\n', deadline)) {
    const bool late = std::chrono::steady_clock::now() >= deadline;
    return {late ? Outcome::timeout : Outcome::ended, {}};
  }
  while (true) {
    if (const std::size_t line_end = rest_.find('\n'); line_end != std::string::npos) {
      std::string line = rest_.substr(0, line_end);
      rest_.erase(0, line_end + 1);
      return {Outcome::line, std::move(line)};
    }
    const Outcome outcome = read_some(deadline);
    if (outcome != Outcome::line) return {outcome, rest_};
  }
}

ChildProcess::Answer ChildProcess::finish(const std::string& text,
                                          std::chrono::milliseconds limit) {
  const Deadline deadline = std::chrono::steady_clock::now() + limit;
  // A child that does not read its input may still answer.
  send(text, deadline);
  shutdown(socket_, SHUT_WR);
  Outcome outcome = Outcome::line;
  while (outcome == Outcome::line) outcome = read_some(deadline);
  if (outcome == Outcome::timeout) return {outcome, rest_};
  // It closed its output; give it the rest of the time to end.
  while (!status_ && std::chrono::steady_clock::now() < deadline) {
    reap(false);
    if (!status_) usleep(200);
  }
  if (!status_) return {Outcome::timeout, rest_};
  const bool fine = WIFEXITED(*status_) && WEXITSTATUS(*status_) == 0;
  return {fine ? Outcome::line : Outcome::ended, rest_};
}

void ChildProcess::reap(bool wait) {
  if (status_) return;
  int status = 0;
  if (waitpid(pid_, &status, wait ? 0 : WNOHANG) == pid_) status_ = status;
}

std::string ChildProcess::end() {
  reap(false);
  kill(-pid_, SIGKILL);  // the whole group, also what it left behind
  reap(true);
  if (!status_) return "gone";
  if (WIFSIGNALED(*status_)) return fmt::format("signal {}", WTERMSIG(*status_));
  return fmt::format("exit status {}", WEXITSTATUS(*status_));
}

}  // namespace foretoken::tune
