// Traffic that comes from what an operator has (a trace, a load tool's result, metrics of a server)
// or from a few numbers on the command line: --traffic, --rate and their like.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "workloads/requests/statistics_format.hpp"

namespace foretoken {

struct TrafficSource {
  std::vector<std::string> files;
  std::string format;  // "" = found out
  std::string over;    // time between the first file and the last
  std::string window_from, window_to;
  std::string rate;
  int users = 0;
  std::int64_t prompt_tokens = 0, output_tokens = 0, requests = 0;
  bool skip_bad_lines = false;

  [[nodiscard]] std::vector<std::filesystem::path> paths() const;
};

/// --traffic and --over.
void add_traffic_files(CLI::App& command, TrafficSource& source);
/// --rate, --users, --requests; each needs `of`, if there is one.
void add_arrival_options(CLI::App& command, CLI::Option* of, TrafficSource& source);

/// The files summed up. Throws ConfigError.
ObservedTraffic observed_traffic(const TrafficSource& source);

/// A [workload] table: a trace is replayed, statistics are fitted; what nobody says is assumed,
/// which `notes` then say.
Value traffic_table(const TrafficSource& source, std::vector<std::string>& notes);

}  // namespace foretoken
