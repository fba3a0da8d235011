// The contract of every subcommand of foretoken-calibrate: it adds itself to the command line and,
// if the user names it, says through `chosen` what is to be run. One file a subcommand; main.cpp
// has the only catch.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "calibration/app/family_trainer.hpp"
#include "calibration/app/load_datasets.hpp"

namespace foretoken {

/// What the user asked for; returns the exit status (0 fine, 1 ran but something failed).
using Action = std::function<int()>;

void add_dump(CLI::App& program, Action& chosen);
void add_doubts(CLI::App& program, Action& chosen);
void add_train(CLI::App& program, Action& chosen);
void add_fit(CLI::App& program, Action& chosen);
void add_tiles(CLI::App& program, Action& chosen);
void add_evaluate(CLI::App& program, Action& chosen);
void add_coverage(CLI::App& program, Action& chosen);
void add_choose(CLI::App& program, Action& chosen);
void add_adapt(CLI::App& program, Action& chosen);
void add_errors(CLI::App& program, Action& chosen);

}  // namespace foretoken
