// foretoken plan: how many of which GPUs? A scenario with a [plan] table in (or options that say
// the same); the cheapest deployment that holds the SLO, the choices worth considering, plan.csv
// and plan.json out. A process a run on all processors.

#include <memory>
#include <optional>

#include "sim/app/launch_source.hpp"
#include "sim/app/plan_command.hpp"
#include "sim/library/foretoken.hpp"
#include "sim/processes/forking_runner.hpp"

namespace foretoken {
namespace {

int plan_here(PlanCommand options, const LaunchSource& launched) {
  if (!launched.from.empty()) {
    if (options.out_folder.empty()) options.out_folder = "imported.plan";
    options.scenario = imported_file(launched, options.out_folder, options.quiet || options.json);
  }
  PlanProgram program;
  program.simulator = {version(), "/proc/self/exe"};
  program.check = [](const Scenario& scenario) { check_scenario(scenario, Catalogs()); };
  const Question question = load_question(options.scenario, options.overrides);
  std::optional<ForkingRunner> runner;
  program.runner = [&](std::size_t jobs) -> ScenarioRunner& {
    return runner.emplace(jobs, row_runner(question));
  };
  return plan(options, program);
}

}  // namespace

void add_plan(CLI::App& program, Action& chosen) {
  auto options = std::make_shared<PlanCommand>();
  auto launched = std::make_shared<LaunchSource>();
  CLI::App* command = program.add_subcommand(
      "plan",
      "Find the cheapest deployment that meets the SLO, and the alternatives worth considering");
  add_plan_options(*command, *options, "Parallel runs (default: one per CPU)");
  CLI::Option* file = command->get_option("scenario")->required(false);
  add_from_options(*command, file, *launched);
  command->footer(
      examples("  foretoken plan examples/plan.toml\n"
               "  foretoken plan examples/plan.toml --gpus h200-sxm,b200-sxm --tp 2,4\n"
               "  foretoken plan examples/plan.toml --set \"slo.ttft=500 ms\" --json\n"
               "  foretoken plan --from \"vllm serve Qwen/Qwen3-8B\" --cluster l40s-1 --rate 20/s "
               "--set \"slo.ttft=500 ms\"\n"
               "  foretoken plan examples/tensor_parallel.toml --max-load --vary "
               "gpu.dram_bandwidth=+20%"));
  command->callback([options, launched, &chosen] {
    if (options->scenario.empty() && launched->from.empty()) throw CLI::RequiredError("scenario");
    chosen = [options, launched] { return plan_here(*options, *launched); };
  });
}

}  // namespace foretoken
