// foretoken sweep: any keys of a scenario over any values, a process a run on all processors. What
// is finished is in an SQLite file before anything else is looked at.

#include <chrono>
#include <memory>
#include <optional>
#include <thread>

#include "sim/app/run_overrides.hpp"
#include "sim/app/subcommand.hpp"
#include "sim/app/sweep_command.hpp"
#include "sim/library/foretoken.hpp"
#include "sim/processes/forking_runner.hpp"
#include "sim/processes/stop_signal.hpp"

namespace foretoken {
namespace {

int sweep_here(const SweepOptions& options) {
  SweepProgram program;
  program.simulator = {version(), "/proc/self/exe"};
  program.check = [&](const RunRequest& request) {
    check_scenario(load_scenario(options.scenario, with(options.overrides, request.changes)),
                   Catalogs());
  };
  const Question question = load_question(options.scenario, options.overrides);
  std::optional<ForkingRunner> runner;
  program.runner = [&](std::size_t jobs) -> ScenarioRunner& {
    return runner.emplace(jobs, row_runner(question));
  };
  program.pause = [](double seconds) {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    return !StopSignal::asked();
  };
  return sweep(options, program);
}

}  // namespace

void add_sweep(CLI::App& program, Action& chosen) {
  auto options = std::make_shared<SweepOptions>();
  CLI::App* command = program.add_subcommand(
      "sweep", "Simulate every combination of key values, and keep each result");
  add_sweep_options(*command, *options, "Parallel runs (default: one per CPU)");
  command->footer(examples(
      "  foretoken sweep examples/quickstart.toml --vary \"workload.rate=4 /s,8 /s,16 /s\" --seeds "
      "5\n"
      "  foretoken sweep examples/tensor_parallel.toml --vary deployment.tensor_parallel=2,4,8 \\\n"
      "      --vary engine.sequences_max=64,256 --store tp.sqlite --csv tp.csv\n"
      "  foretoken sweep examples/quickstart.toml --zip --vary "
      "cluster.name=h100-sxm-1,h200-sxm-1 \\\n"
      "      --vary \"workload.rate=5 /s,8 /s\"\n"
      "  sqlite3 tp.sqlite \"SELECT settings, ttft_p99_ms FROM result ORDER BY 2\""));
  command->callback([options, &chosen] { chosen = [options] { return sweep_here(*options); }; });
}

}  // namespace foretoken
