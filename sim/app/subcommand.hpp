// The contract of every subcommand: it adds itself to the command line and, if the user names it,
// says through `chosen` what is to be run. One file a subcommand; main.cpp has the only catch.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "sim/base/interrupted.hpp"
#include "sim/base/keys.hpp"

namespace foretoken {

/// What the user asked for; returns the exit status (0 fine, 1 ran but something failed).
using Action = std::function<int()>;

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

/// CLI::PositiveNumber and CLI::NonNegativeNumber without the 300 digits of their messages, and
/// without "nan" and "inf", which no option can mean.
inline CLI::Validator finite_number(bool may_be_zero) {
  return {[may_be_zero](std::string& text) {
            double number = 0;
            const bool is_fine = CLI::detail::lexical_cast(text, number) && std::isfinite(number) &&
                                 (number > 0 || (may_be_zero && number == 0));
            if (is_fine) return std::string();
            return fmt::format("must be a number {}, not {}",
                               may_be_zero ? "of 0 or more" : "above 0", text);
          },
          may_be_zero ? "NONNEGATIVE" : "POSITIVE"};
}
inline CLI::Validator above_zero() { return finite_number(false); }
inline CLI::Validator zero_or_more() { return finite_number(true); }

/// CLI::Range without "nan", which lies within all ranges there, and without zeros behind.
inline CLI::Validator number_within(double least, double most) {
  return {[=](std::string& text) {
            double number = 0;
            const bool is_fine =
                CLI::detail::lexical_cast(text, number) && number >= least && number <= most;
            if (is_fine) return std::string();
            return fmt::format("must be a number from {} to {}, not {}", least, most, text);
          },
          fmt::format("FLOAT in [{} - {}]", least, most)};
}

/// Every table of a scenario, the options of its variants and [plan].
std::vector<KeyTable> all_key_tables();
/// Keys that --set can name without a name of the user's in between: "engine.batch_tokens_max".
std::vector<std::string> settable_keys();

/// Examples at the end of a subcommand's --help.
std::string examples(const std::string& lines);

}  // namespace foretoken
