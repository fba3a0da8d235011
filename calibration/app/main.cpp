// foretoken-calibrate: turns measurements into the artifacts that price kernels, and judges them.
#include "calibration/app/subcommand.hpp"
#include "calibration/program.hpp"
#include "sim/base/huge_pages.hpp"
#include "sim/terminal/help_format.hpp"

int main(int argc, char** argv) {
  using namespace foretoken;
  use_huge_pages();
  CLI::App program("Trains, fits and evaluates the artifacts that Foretoken prices kernels with.",
                   "foretoken-calibrate");
  program.formatter(std::make_shared<HelpFormat>());
  Action chosen;
  add_dump(program, chosen);
  add_doubts(program, chosen);
  add_train(program, chosen);
  add_fit(program, chosen);
  add_tiles(program, chosen);
  add_evaluate(program, chosen);
  add_coverage(program, chosen);
  add_choose(program, chosen);
  add_adapt(program, chosen);
  add_errors(program, chosen);
  return run_program(program, chosen, argc, argv);
}
