#include "sim/app/run_overrides.hpp"

#include <fmt/format.h>

namespace foretoken {

void add_set_option(CLI::App& command, std::vector<std::string>& overrides,
                    const std::string& where) {
  command
      .add_option("--set", overrides,
                  fmt::format("Override a key of {}: table.key=value; repeatable", where))
      ->allow_extra_args(false);
}

void add_goal_option(CLI::App& command, std::vector<std::string>& goals) {
  command
      .add_option("--goal", goals,
                  "Figures to rank by, such as e2e_p99_ms,output_tokens_per_s: any CSV column "
                  "(default: tail latency, throughput, goodput, cost)")
      ->delimiter(',')
      ->allow_extra_args(false);
}

std::vector<std::string> with(std::vector<std::string> overrides, const RunRequest& request) {
  overrides.insert(overrides.end(), request.overrides.begin(), request.overrides.end());
  return overrides;
}

}  // namespace foretoken
