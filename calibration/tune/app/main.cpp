// foretoken-tune: finds faster kernels with a bandit over (kernel, strategy), on a GPU, on a
// simulated one or on recorded evaluations.
#include "calibration/program.hpp"
#include "calibration/tune/app/subcommand.hpp"
#include "sim/terminal/help_format.hpp"

int main(int argc, char** argv) {
  using namespace foretoken;
  CLI::App program("Finds faster GPU kernels with a bandit over (kernel, strategy).",
                   "foretoken-tune");
  program.formatter(std::make_shared<HelpFormat>());
  tune::Action chosen;
  tune::add_list(program, chosen);
  tune::add_run(program, chosen);
  tune::add_compare(program, chosen);
  tune::add_replay(program, chosen);
  tune::add_rank(program, chosen);
  tune::add_export(program, chosen);
  tune::add_record(program, chosen);
  tune::add_count(program, chosen);
  tune::add_prior(program, chosen);
  tune::add_device(program, chosen);
  return run_program(program, chosen, argc, argv);
}
