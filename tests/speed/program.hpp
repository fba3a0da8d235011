// The program as a child process, for benches of whole runs.
#pragma once

#include <cstdint>
#include <string>

namespace foretoken {

struct ProgramRun {
  std::string text;
  double cpu_s = 0;
  std::int64_t bytes_peak = 0;  // resident
};

/// What it prints, and what it takes, when it is run with `arguments` from the project's folder. A
/// status other than 0 is an InternalError.
ProgramRun run_program(const std::string& arguments);
inline std::string program_output(const std::string& arguments) {
  return run_program(arguments).text;
}

}  // namespace foretoken
