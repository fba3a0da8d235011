// Several runs in one test: a process can simulate once, so each runs in a child.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <optional>

#include "tests/properties/run_text.hpp"

namespace foretoken {

/// What `work` returned in a child process, or nothing if it threw, hung for a minute or died.
inline std::optional<double> in_child(const std::function<double()>& work) {
  constexpr unsigned seconds_max = 60;
  int ends[2];
  FORETOKEN_CHECK(pipe(ends) == 0, "no pipe");
  const pid_t child = fork();
  FORETOKEN_CHECK(child >= 0, "no child");
  if (child == 0) {
    alarm(seconds_max);
    int status = 1;
    try {
      const double result = work();
      status = write(ends[1], &result, sizeof result) == sizeof result ? 0 : 1;
    } catch (const std::exception& error) {
      fmt::print(stderr, "{}\n", error.what());
    }
    _exit(status);
  }
  close(ends[1]);
  double result = 0;
  const bool is_read = read(ends[0], &result, sizeof result) == sizeof result;
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  const bool is_fine = is_read && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  return is_fine ? std::optional(result) : std::nullopt;
}

}  // namespace foretoken
