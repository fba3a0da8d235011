// `foretoken validate --silicon`: simulates every point of a table of real servers, each in a child
// process, and says how far off they are. What cannot be simulated is listed and stops nothing
// else.
#pragma once

#include <string>
#include <vector>

namespace foretoken {

struct ClosedLoopOptions {
  std::vector<std::string> tables;     // CSV
  std::string scoreboard_path;         // Markdown; "" = none
  std::string servers;                 // TOML; "" = what is known of public ones
  std::string model, cluster;          // in place of what rows say; "" = as they say
  std::vector<std::string> overrides;  // of every scenario
  std::size_t jobs = 0;                // at once; 0 = one for each processor
  std::size_t worst = 10;              // points to list
  std::string scenario_of;             // a point's id: print its scenario alone; "" = simulate all
  bool json = false;
  bool quiet = false;       // neither tables nor progress
  std::string report_path;  // HTML; "" = none
  std::string out_folder;   // for validation.json; "" = none
};

/// Returns the exit status.
int validate_closed_loops(const ClosedLoopOptions& options);

}  // namespace foretoken
