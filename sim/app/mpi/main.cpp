// foretoken-mpi: sweeps over the ranks of an MPI job. A program of its own that starts `foretoken`
// processes: SimGrid exports MPI's symbols, so that no program may link both.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "sim/app/mpi/rank_runner.hpp"
#include "sim/app/sweep_command.hpp"
#include "sim/base/error.hpp"

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
  throw ConfigError({"srun"},
                    fmt::format("started {} tasks that do not know of each other; try srun "
                                "--mpi=pmix, or mpirun inside the allocation",
                                tasks));
}

int fail(int status, const std::string& message) {
  std::fflush(stdout);
  fmt::print(stderr, "foretoken-mpi: {}\n", message);
  return status;
}

/// The same sweep, checked by the program that knows schedulers, routers and predictors.
std::vector<std::string> check_command(const SweepOptions& options, const std::string& foretoken) {
  std::vector<std::string> arguments = {foretoken, "sweep", options.scenario, "--quiet",
                                        "--dry-run"};
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

int sweep_from_rank_0(const SweepOptions& options, RankMessages& messages,
                      const RunProgram& run_program, std::size_t slots) {
  check_that_ranks_know_each_other(messages);
  // Before anything else that may fail, so that the other ranks are told to stop whatever goes
  // wrong.
  RankRunner runner(messages, run_program, slots, options.lease_s);
  const int refused = run_to_its_end(check_command(options, run_program.foretoken));
  if (refused != 0) return refused;
  SweepProgram program;
  program.version = version_of(run_program.foretoken);
  program.runner = [&](std::size_t) -> ScenarioRunner& { return runner; };
  program.pause = [&](double seconds) { return runner.pause(seconds); };
  return sweep(options, program);
}

/// main's only catch, for rank 0.
int status_of(const std::function<int()>& action) {
  try {
    return action();
  } catch (const ConfigError& error) {
    return fail(2, error.what());
  } catch (const InternalError& error) {
    return fail(3, fmt::format("internal error, please report it:\n{}", error.what()));
  } catch (const std::exception& error) {
    return fail(1, error.what());
  }
}

int run(int argc, char** argv) {
  CLI::App program(
      "Foretoken over the ranks of an MPI job: mpirun -n 4 foretoken-mpi sweep …\nRank 0 keeps the "
      "store and hands out runs; every rank starts foretoken processes.",
      "foretoken-mpi");
  program.require_subcommand(1);
  program.footer("Exit status: 0 fine, 1 ran but something failed, 2 a mistake in what was asked.");
  SweepOptions options;
  std::string foretoken = foretoken_beside_this();
  CLI::App* command =
      program.add_subcommand("sweep", "Run a scenario for many values of any of its keys");
  add_sweep_options(*command, options, "Runs at once on each rank (default: its processors)");
  command->add_option("--foretoken", foretoken,
                      "The foretoken program on every node (default: the one beside this)");
  command->footer(examples(
      "  mpirun -n 4 foretoken-mpi sweep examples/quickstart.toml --vary \"workload.rate=4 "
      "/s,8 /s\" --seeds 8\n"
      "  srun --ntasks-per-node=1 --cpus-per-task=32 foretoken-mpi sweep "
      "/shared/s.toml \\\n"
      "      --vary engine.sequences_max=64,256 --store /shared/s.sqlite"));
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (!speaks_for_all()) return error.get_exit_code() == 0 ? 0 : 2;
    if (error.get_exit_code() == 0) return program.exit(error);
    return fail(2, std::string(error.what()) + "\nRun with --help for the options and examples.");
  }

  RankMessages messages(&argc, &argv);
  const RunProgram run_program{foretoken, options.scenario, options.overrides};
  const std::size_t slots = options.jobs > 0 ? options.jobs : messages.processors();
  int status = 0;
  if (messages.rank() == 0) {
    status = status_of([&] { return sweep_from_rank_0(options, messages, run_program, slots); });
  } else {
    status = status_of([&] {
      serve_runs(messages, run_program, slots, options.lease_s);
      return 0;
    });
  }
  messages.finish(status);
  return status;
}

}  // namespace
}  // namespace foretoken

int main(int argc, char** argv) { return foretoken::run(argc, argv); }
