// foretoken-tune: finds faster kernels with a bandit over (kernel, strategy), on a GPU, on a simulated
// one or on recorded evaluations.
// Exit status: 0 fine, 1 ran but something failed, 2 the user's mistake, 3 our bug.
#include <fmt/format.h>

#include <cstdio>

#include "calibration/tune/app/subcommand.hpp"
#include "sim/base/error.hpp"

namespace foretoken::tune {
namespace {

int fail(int status, const std::string& message) {
  std::fflush(stdout);
  fmt::print(stderr, "foretoken-tune: {}\n", message);
  return status;
}

int run(int argc, char** argv) {
  CLI::App program("Finds faster kernels with a bandit over (kernel, strategy).", "foretoken-tune");
  program.require_subcommand(1);
  Action chosen;
  add_list(program, chosen);
  add_run(program, chosen);
  add_compare(program, chosen);
  add_replay(program, chosen);
  add_export(program, chosen);
  add_record(program, chosen);
  add_device(program, chosen);
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return program.exit(error) == 0 ? 0 : 2;
  }
  return chosen();
}

}  // namespace
}  // namespace foretoken::tune

int main(int argc, char** argv) {
  using namespace foretoken;
  try {
    return tune::run(argc, argv);
  } catch (const ConfigError& error) {
    return tune::fail(2, error.what());
  } catch (const PredictionError& error) {
    return tune::fail(1, error.what());
  } catch (const std::exception& error) {
    return tune::fail(3, error.what());
  }
}
