// foretoken outcome: one run of a sweep, for programs that start runs as processes (foretoken-mpi).
// Prints what came of it as one JSON object on one line, whatever that is; nothing is an error.

#include <fmt/format.h>

#include <memory>

#include "sim/app/subcommand.hpp"
#include "sim/library/foretoken.hpp"
#include "sim/processes/child_processes.hpp"
#include "sim/terminal/terminal.hpp"

namespace foretoken {

void add_outcome(CLI::App& program, Action& chosen) {
  struct Options {
    std::string scenario;
    std::vector<std::string> overrides;
    std::optional<std::int64_t> misses_max;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command = program.add_subcommand(
      "outcome", "Run a scenario for another program: its outcome as one line of JSON");
  command->group("");  // not for people
  command->add_option("scenario", options->scenario, "Scenario file (TOML)")->required();
  command->add_option("--set", options->overrides, "Change a key, as table.key=value")
      ->allow_extra_args(false);
  command->add_option("--misses-max", options->misses_max,
                      "Let the run end once more requests than this have missed the SLO");
  command->callback([options, &chosen] {
    chosen = [options] {
      const RunOutcome outcome = outcome_of<Report>([&] {
        return run_row(load_question(options->scenario),
                       {parse_changes(options->overrides), options->misses_max});
      });
      show_data(told(outcome_value(outcome)) + "\n");
      return 0;
    };
  });
}

}  // namespace foretoken
