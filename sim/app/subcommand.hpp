// The contract of every subcommand: it adds itself to the command line and, if the user names it,
// says through `chosen` what is to be run. One file a subcommand; main.cpp has the only catch.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "sim/base/keys.hpp"

namespace foretoken {

/// What the user asked for; returns the exit status (0 fine, 1 ran but something failed).
using Action = std::function<int()>;
/// The exit status where the user stopped it, as shells call a program that SIGINT ended.
inline constexpr int status_interrupted = 130;

void add_simulate(CLI::App& program, Action& chosen);
void add_serve(CLI::App& program, Action& chosen);
void add_compare(CLI::App& program, Action& chosen);
void add_sweep(CLI::App& program, Action& chosen);
void add_plan(CLI::App& program, Action& chosen);
void add_explain(CLI::App& program, Action& chosen);
void add_step(CLI::App& program, Action& chosen);
void add_predict(CLI::App& program, Action& chosen);
void add_select(CLI::App& program, Action& chosen);
void add_diagnose(CLI::App& program, Action& chosen);
void add_dispatch(CLI::App& program, Action& chosen);
void add_validate(CLI::App& program, Action& chosen);
void add_calibrate_host(CLI::App& program, Action& chosen);
void add_gpu(CLI::App& program, Action& chosen);
void add_model(CLI::App& program, Action& chosen);
void add_cluster(CLI::App& program, Action& chosen);
void add_import(CLI::App& program, Action& chosen);
void add_traffic(CLI::App& program, Action& chosen);
void add_engine(CLI::App& program, Action& chosen);
void add_list(CLI::App& program, Action& chosen);
void add_keys(CLI::App& program, Action& chosen);
void add_outcome(CLI::App& program, Action& chosen);
void add_completion(CLI::App& program, Action& chosen);
void add_man(CLI::App& program, Action& chosen);

/// CLI::PositiveNumber without the 300 digits of its message.
inline CLI::Validator above_zero() {
  return {[](std::string& text) {
            return CLI::PositiveNumber(text).empty()
                       ? std::string()
                       : fmt::format("must be a number above 0, not {}", text);
          },
          "POSITIVE"};
}

/// Every table of a scenario, the options of its variants and [plan].
std::vector<KeyTable> all_key_tables();
/// Keys that --set can name without a name of the user's in between: "engine.batch_tokens_max".
std::vector<std::string> settable_keys();

/// Examples at the end of a subcommand's --help.
std::string examples(const std::string& lines);

}  // namespace foretoken
