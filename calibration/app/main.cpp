// foretoken-calibrate: turns measurements into the artifacts that price kernels, and judges them.
// Exit status: 0 fine, 1 ran but something failed, 2 the user's mistake, 3 our bug.
#include <fmt/format.h>

#include <cstdio>

#include "calibration/app/subcommand.hpp"
#include "sim/base/error.hpp"

namespace foretoken {
namespace {

int fail(int status, const std::string& message) {
  std::fflush(stdout);
  fmt::print(stderr, "foretoken-calibrate: {}\n", message);
  return status;
}

int run(int argc, char** argv) {
  CLI::App program("Trains, fits and judges the artifacts that Foretoken prices kernels with.",
                   "foretoken-calibrate");
  program.require_subcommand(1);
  Action chosen;
  add_dump(program, chosen);
  add_train(program, chosen);
  add_fit(program, chosen);
  add_tiles(program, chosen);
  add_evaluate(program, chosen);
  add_coverage(program, chosen);
  add_choose(program, chosen);
  add_adapt(program, chosen);
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return program.exit(error) == 0 ? 0 : 2;
  }
  return chosen();
}

}  // namespace
}  // namespace foretoken

int main(int argc, char** argv) {
  using namespace foretoken;
  try {
    return run(argc, argv);
  } catch (const ConfigError& error) {
    return fail(2, error.what());
  } catch (const PredictionError& error) {
    return fail(1, error.what());
  } catch (const std::exception& error) {
    return fail(3, error.what());
  }
}
