#include "sim/app/mpi/run_process.hpp"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "sim/app/run_overrides.hpp"
#include "sim/base/error.hpp"

extern char** environ;

namespace foretoken {
namespace {

std::vector<char*> words_of(const std::vector<std::string>& arguments) {
  std::vector<char*> words;
  for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.data()));
  words.push_back(nullptr);
  return words;
}

/// With its output into `output`, if one is given (-1: this program's).
pid_t start_program(const std::vector<std::string>& arguments, int output) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  if (output >= 0) posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
  pid_t process = 0;
  const int status = posix_spawn(&process, arguments[0].c_str(), &files, nullptr,
                                 words_of(arguments).data(), environ);
  posix_spawn_file_actions_destroy(&files);
  if (status != 0) {
    throw ConfigError({arguments[0]},
                      "cannot be started; name the foretoken program with --foretoken");
  }
  return process;
}

int exit_status_of(pid_t process) {
  int status = 0;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

void RunProgram::start(ChildProcesses& children, std::size_t ticket,
                       const RunRequest& request) const {
  std::vector<std::string> arguments = {foretoken, "outcome", scenario};
  for (const Change& change : with(overrides, request.changes)) {
    arguments.emplace_back("--set");
    arguments.push_back(change.text());
  }
  if (request.misses_max) {
    arguments.emplace_back("--misses-max");
    arguments.push_back(fmt::format("{}", *request.misses_max));
  }
  const std::vector<char*> words = words_of(arguments);
  children.start(ticket, [&](int pipe) {
    dup2(pipe, STDOUT_FILENO);
    close(pipe);
    execv(words[0], words.data());
    return 127;  // as shells say that there is no such program
  });
}

std::string foretoken_beside_this() {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/exe", ignored).replace_filename("foretoken");
}

std::string version_of(const std::string& foretoken) {
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("cannot make a pipe");
  const pid_t process = start_program({foretoken, "--version"}, ends[1]);
  close(ends[1]);
  std::string text;
  char buffer[256];
  for (ssize_t count = 1; count > 0;) {
    count = read(ends[0], buffer, sizeof buffer);
    if (count > 0) text.append(buffer, static_cast<std::size_t>(count));
  }
  close(ends[0]);
  constexpr std::string_view name = "foretoken ";
  if (exit_status_of(process) != 0 || !text.starts_with(name))
    throw ConfigError({foretoken}, "is not the foretoken program; name it with --foretoken");
  return text.substr(name.size(), text.find('\n') - name.size());
}

int run_to_its_end(const std::vector<std::string>& arguments) {
  return exit_status_of(start_program(arguments, -1));
}

}  // namespace foretoken
