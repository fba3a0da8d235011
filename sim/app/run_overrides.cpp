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

Changes with(const std::vector<std::string>& overrides, const Changes& changes) {
  Changes all = parse_changes(overrides);
  all.insert(all.end(), changes.begin(), changes.end());
  return all;
}

}  // namespace foretoken
