#include "tests/speed/program.hpp"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

#include "sim/base/error.hpp"

#ifdef FORETOKEN_PROGRAM
namespace foretoken {

ProgramRun run_program(const std::string& arguments) {
  std::string command = "cd " FORETOKEN_SOURCE_DIR " && " FORETOKEN_PROGRAM " " + arguments;
  // The test that every bench still runs asks for few requests: a trace of a day tells it no more.
  if (const char* requests = std::getenv("FORETOKEN_BENCH_REQUESTS"))
    command += std::string(" --set workload.requests=") + requests;
  std::array<int, 2> ends{};
  FORETOKEN_CHECK(pipe(ends.data()) == 0, "no pipe for {}", command);
  const pid_t child = fork();
  FORETOKEN_CHECK(child >= 0, "cannot run {}", command);
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    close(ends[0]);
    close(ends[1]);
    execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    _exit(127);
  }
  close(ends[1]);
  ProgramRun run;
  std::array<char, 4096> piece{};
  for (ssize_t size = 0; (size = read(ends[0], piece.data(), piece.size())) > 0;)
    run.text.append(piece.data(), static_cast<std::size_t>(size));
  close(ends[0]);
  int status = 0;
  rusage usage{};
  wait4(child, &status, 0, &usage);
  FORETOKEN_CHECK(status == 0, "{} ended with status {}", command, status);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  run.cpu_s = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  run.bytes_peak = 1024 * std::int64_t{usage.ru_maxrss};
  return run;
}

}  // namespace foretoken
#endif
