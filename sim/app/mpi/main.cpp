// foretoken-mpi: sweeps and plans over the ranks of an MPI job. A program of its own that starts
// `foretoken` processes: SimGrid exports MPI's symbols, so that no program may link both.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "sim/app/mpi/rank_runner.hpp"
#include "sim/app/plan_command.hpp"
#include "sim/app/sweep_command.hpp"
#include "sim/base/error.hpp"
#include "sim/base/huge_pages.hpp"
#include "sim/base/output_file.hpp"
#include "sim/base/program_failure.hpp"
#include "sim/terminal/help_format.hpp"
#include "sim/terminal/terminal.hpp"

namespace foretoken {

std::string examples(const std::string& lines) { return "Examples:\n" + lines; }

namespace {

/// Before MPI is up: whether this process is the one to say what all of them would say.
bool speaks_for_all() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"}) {
    if (const char* rank = std::getenv(name)) return std::string_view(rank) == "0";
  }
  return true;
}

/// srun whose kind of PMI is not Open MPI's starts as many jobs of one rank as there are tasks.
void check_that_ranks_know_each_other(const RankMessages& messages) {
  const char* tasks = std::getenv("SLURM_STEP_NUM_TASKS");
  if (messages.ranks() > 1 || tasks == nullptr || std::string_view(tasks) == "1") return;
  if (std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr) return;  // mpirun -n 1 is meant
  throw ConfigError({"srun"}, fmt::format("started {} unconnected tasks; try srun "
                                          "--mpi=pmix, or mpirun inside the allocation",
                                          tasks));
}

int fail(int status, const std::string& message) {
  std::fflush(stdout);
  tell("foretoken-mpi: {}\n", message);
  return status;
}

/// Arguments that ask another foretoken to check the same sweep.
std::vector<std::string> check_arguments(const SweepOptions& options) {
  std::vector<std::string> arguments = {"sweep", options.scenario, "--quiet", "--dry-run"};
  for (const std::string& text : options.vary) {
    arguments.emplace_back("--vary");
    arguments.push_back(text);
  }
  for (const std::string& assignment : options.overrides) {
    arguments.emplace_back("--set");
    arguments.push_back(assignment);
  }
  if (options.zip) arguments.emplace_back("--zip");
  if (options.seeds > 0) arguments.push_back(fmt::format("--seeds={}", options.seeds));
  return arguments;
}

/// What a command is once its options are read.
struct RankCommand {
  RunProgram run;
  std::size_t jobs = 0;  // 0: the processors
  double lease_s = 60;   // after which a rank counts as dead
  /// For the program that knows schedulers, routers and predictors: the same question as a dry run.
  std::vector<std::string> check;
  std::function<int(RankRunner& runner)> action;
};

int run_from_rank_0(const RankCommand& command, RankMessages& messages, std::size_t slots) {
  check_that_ranks_know_each_other(messages);
  // Before anything else that may fail, so that the other ranks are told to stop whatever goes
  // wrong.
  RankRunner runner(messages, command.run, slots, command.lease_s);
  std::vector<std::string> check = command.check;
  check.insert(check.begin(), command.run.foretoken);
  const int refused = run_to_its_end(check);
  return refused != 0 ? refused : command.action(runner);
}

RankCommand command_of(const SweepOptions& options, const std::string& foretoken) {
  const auto action = [&](RankRunner& runner) {
    SweepProgram program;
    program.simulator = {version_of(foretoken), foretoken};
    program.runner = [&](std::size_t) -> ScenarioRunner& { return runner; };
    program.pause = [&](double seconds) { return runner.pause(seconds); };
    return sweep(options, program);
  };
  return {{foretoken, options.scenario, options.overrides},
          options.jobs,
          options.lease_s,
          check_arguments(options),
          action};
}

RankCommand command_of(const PlanCommand& options, double lease_s, const std::string& foretoken) {
  const auto action = [&](RankRunner& runner) {
    PlanProgram program;
    program.simulator = {version_of(foretoken), foretoken};
    program.runner = [&](std::size_t) -> ScenarioRunner& { return runner; };
    return plan(options, program);
  };
  return {{foretoken, options.scenario, options.overrides},
          options.jobs,
          lease_s,
          check_arguments(options),
          action};
}

/// main's only catch, for rank 0.
int status_of(const std::function<int()>& action) {
  try {
    const int status = action();
    flush_standard_output();
    return status;
  } catch (...) {
    const ProgramFailure failure = current_program_failure();
    return fail(failure.status, failure.message);
  }
}

constexpr const char* jobs_text = "Parallel runs on each rank (default: one per CPU)";

CLI::App* add_sweep_command(CLI::App& program, SweepOptions& options) {
  CLI::App* command =
      program.add_subcommand("sweep", "Run a scenario for many values of any of its keys");
  add_sweep_options(*command, options, jobs_text);
  command->footer(examples(
      "  mpirun -n 4 foretoken-mpi sweep examples/quickstart.toml --vary \"workload.rate=4 "
      "/s,8 /s\" --seeds 8\n"
      "  srun --ntasks-per-node=1 --cpus-per-task=32 foretoken-mpi sweep "
      "/shared/s.toml \\\n"
      "      --vary engine.sequences_max=64,256 --store /shared/s.sqlite"));
  return command;
}

CLI::App* add_plan_command(CLI::App& program, PlanCommand& options, double& lease_s) {
  CLI::App* command = program.add_subcommand(
      "plan", "Find the cheapest deployment that holds the SLO, and the choices worth considering");
  add_plan_options(*command, options, jobs_text);
  command
      ->add_option("--lease", lease_s,
                   "Seconds until others take over the runs of a rank that no longer answers "
                   "(default 60)")
      ->check(CLI::Range(1.0, 86400.0));
  command->footer(examples(
      "  mpirun -n 4 foretoken-mpi plan examples/plan.toml --out plans/chat\n"
      "  srun --ntasks-per-node=1 --cpus-per-task=32 foretoken-mpi plan /shared/s.toml --out "
      "/shared/plan"));
  return command;
}

int run(int argc, char** argv) {
  CLI::App program(
      "Foretoken over the ranks of an MPI job: mpirun -n 4 foretoken-mpi sweep|plan …\nRank 0 "
      "keeps "
      "the results and hands out runs; every rank starts foretoken processes.",
      "foretoken-mpi");
  program.formatter(std::make_shared<HelpFormat>());
  program.require_subcommand(1);
  program.footer("Exit status: 0 success; 1 ran, but something failed; 2 invalid input.");
  SweepOptions sweep_options;
  PlanCommand plan_options;
  double plan_lease_s = 60;
  std::string foretoken = foretoken_beside_this();
  CLI::App* sweep_command = add_sweep_command(program, sweep_options);
  for (CLI::App* command : {sweep_command, add_plan_command(program, plan_options, plan_lease_s)}) {
    command->add_option(
        "--foretoken", foretoken,
        "The foretoken program on every node (default: the one next to this program)");
  }
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (!speaks_for_all()) return error.get_exit_code() == 0 ? 0 : 2;
    if (error.get_exit_code() == 0) return program.exit(error);
    return fail(2, std::string(error.what()) + "\nRun with --help for the options and examples.");
  }
  const RankCommand command = sweep_command->parsed()
                                  ? command_of(sweep_options, foretoken)
                                  : command_of(plan_options, plan_lease_s, foretoken);

  RankMessages messages(&argc, &argv);
  const std::size_t slots = command.jobs > 0 ? command.jobs : messages.processors();
  const int status = status_of([&] {
    if (messages.rank() == 0) return run_from_rank_0(command, messages, slots);
    serve_runs(messages, command.run, slots, command.lease_s);
    return 0;
  });
  messages.finish(status);
  return status;
}

}  // namespace
}  // namespace foretoken

int main(int argc, char** argv) {
  foretoken::use_huge_pages();
  // Open MPI's mpirun gives rank 0 a terminal of its own, whatever becomes of the output.
  if (std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr) setenv("NO_COLOR", "1", 0);
  return foretoken::run(argc, argv);
}
