// The contract of every subcommand of foretoken-tune: it adds itself to the command line and, if
// the user names it, says through `chosen` what is to be run. One file a subcommand.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

namespace foretoken::tune {

/// What the user asked for; returns the exit status (0 fine, 1 ran but something failed).
using Action = std::function<int()>;

void add_device(CLI::App& program, Action& chosen);
void add_run(CLI::App& program, Action& chosen);
void add_compare(CLI::App& program, Action& chosen);
void add_replay(CLI::App& program, Action& chosen);
void add_rank(CLI::App& program, Action& chosen);
void add_export(CLI::App& program, Action& chosen);
void add_list(CLI::App& program, Action& chosen);
void add_record(CLI::App& program, Action& chosen);
void add_count(CLI::App& program, Action& chosen);
void add_prior(CLI::App& program, Action& chosen);

/// What starts this very program as a device process.
std::vector<std::string> device_command();

}  // namespace foretoken::tune
