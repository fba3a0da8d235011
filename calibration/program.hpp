// What the programs of calibration/ have in common around their subcommands: parsing, and the only
// catch. Exit status: 0 fine, 1 ran but something failed, 2 the user's mistake, 3 our bug.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdio>
#include <functional>
#include <string>

#include "calibration/say.hpp"
#include "sim/base/output_file.hpp"
#include "sim/base/program_failure.hpp"

namespace foretoken {

/// Runs what the command line chooses; every subcommand of `program` sets `chosen`, which returns
/// the exit status.
inline int run_program(CLI::App& program, const std::function<int()>& chosen, int argc,
                       char** argv) {
  const auto fail = [&](int status, const std::string& message) {
    std::fflush(stdout);
    tell("{}: {}\n", program.get_name(), message);
    return status;
  };
  program.require_subcommand(1);
  try {
    try {
      program.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
      if (error.get_exit_code() != 0) {
        return fail(2, std::string(error.what()) + "\nRun with --help for the options.");
      }
      program.exit(error);
      flush_standard_output();
      return 0;
    }
    const int status = chosen();
    flush_standard_output();
    return status;
  } catch (...) {
    const ProgramFailure failure = current_program_failure();
    return fail(failure.status, failure.message);
  }
}

}  // namespace foretoken
