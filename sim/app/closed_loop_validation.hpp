// `foretoken validate --silicon`: simulates every point of a table of real servers, each in a child
// process, and says how far off they are.
#pragma once

#include <string>
#include <vector>

namespace foretoken {

struct ClosedLoopOptions {
  std::string table;                   // CSV
  std::string servers;                 // TOML; "" = presets alone
  std::vector<std::string> overrides;  // of every scenario
  std::size_t jobs = 0;                // at once; 0 = one for each processor
  std::size_t worst = 10;              // points to list
  bool json = false;
  std::string report_path;  // HTML; "" = none
};

/// Returns the exit status.
int validate_closed_loops(const ClosedLoopOptions& options);

}  // namespace foretoken
