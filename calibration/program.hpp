// What the programs of calibration/ have in common around their subcommands: parsing, and the only
// catch. Exit status: 0 fine, 1 ran but something failed, 2 the user's mistake, 3 our bug.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <functional>
#include <string>

#include "sim/base/error.hpp"

namespace foretoken {

/// Runs what the command line chooses; every subcommand of `program` sets `chosen`, which returns
/// the exit status.
inline int run_program(CLI::App& program, const std::function<int()>& chosen, int argc,
                       char** argv) {
  const auto fail = [&](int status, const std::string& message) {
    std::fflush(stdout);
    fmt::print(stderr, "{}: {}\n", program.get_name(), message);
    return status;
  };
  program.require_subcommand(1);
  try {
    program.parse(argc, argv);
    return chosen();
  } catch (const CLI::ParseError& error) {
    return program.exit(error) == 0 ? 0 : 2;
  } catch (const ConfigError& error) {
    return fail(2, error.what());
  } catch (const PredictionError& error) {
    return fail(1, error.what());
  } catch (const std::exception& error) {
    return fail(3, error.what());
  }
}

}  // namespace foretoken
