// The foretoken program: finds the subcommand, runs it, and turns every kind of failure into one
// clear message and an exit status: 0 fine, 1 ran but something failed, 2 the user's mistake,
// 3 our bug.

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "sim/app/subcommand.hpp"
#include "sim/base/huge_pages.hpp"
#include "sim/base/nearest_name.hpp"
#include "sim/base/output_file.hpp"
#include "sim/base/program_failure.hpp"
#include "sim/run/run.hpp"
#include "sim/terminal/help_format.hpp"
#include "sim/terminal/terminal.hpp"

namespace foretoken {

std::string examples(const std::string& lines) { return "Examples:\n" + lines; }

namespace {

int fail(int status, const std::string& message) {
  std::fflush(stdout);
  tell("foretoken: {}\n", message);
  return status;
}

/// A misspelt subcommand: CLI11 would only call it "not expected".
std::string unknown_subcommand(const CLI::App& program, const std::string& name) {
  std::vector<std::string_view> known;
  std::vector<std::string> names;
  for (const CLI::App* subcommand : program.get_subcommands({})) {
    if (!subcommand->get_group().empty()) names.push_back(subcommand->get_name());
  }
  known.assign(names.begin(), names.end());
  return unknown_name_message("command", name, known);
}

/// What `arguments` hold that no option of their command is called, as "--pictures"; "" = nothing.
std::string unknown_option(const CLI::App& program, const std::vector<std::string>& arguments) {
  const CLI::App* command = &program;
  std::size_t at = 0;
  for (; at < arguments.size(); ++at) {
    const auto below = command->get_subcommands({});
    const auto named = std::ranges::find_if(
        below, [&](const CLI::App* each) { return each->get_name() == arguments[at]; });
    if (named == below.end()) break;
    command = *named;
  }
  std::vector<std::string> names;
  for (const CLI::Option* option : command->get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  const std::vector<std::string_view> known(names.begin(), names.end());
  for (; at < arguments.size(); ++at) {
    const std::string name = arguments[at].substr(0, arguments[at].find('='));
    if (!name.starts_with("--") || name == "--" || std::ranges::count(names, name) > 0) continue;
    const std::string_view nearest = nearest_name(name, known);
    const bool is_near = !nearest.empty() && nearest[2] == name[2];  // short ones are all near
    return fmt::format("unknown option {}{}", name,
                       is_near ? fmt::format("; did you mean {}?", nearest) : "");
  }
  return "";
}

int run(int argc, char** argv) {
  CLI::App program(
      "Foretoken predicts the TTFT, TPOT, throughput and cost of LLM serving before anyone rents "
      "the "
      "GPUs.\nStart with: foretoken simulate examples/quickstart.toml",
      "foretoken");
  program.formatter(std::make_shared<HelpFormat>());
  program.set_version_flag("--version", "foretoken " + version());
  program.require_subcommand(0, 1);
  program.footer(
      "Exit status: 0 success; 1 ran, but something failed; 2 invalid input; 3 internal "
      "error;\n130 interrupted (finished runs are kept). Output is coloured on a terminal unless "
      "NO_COLOR is set.");

  Action chosen;
  add_simulate(program, chosen);
  add_serve(program, chosen);
  add_compare(program, chosen);
  add_sweep(program, chosen);
  add_plan(program, chosen);
  add_explain(program, chosen);
  add_step(program, chosen);
  add_predict(program, chosen);
  add_select(program, chosen);
  add_diagnose(program, chosen);
  add_dispatch(program, chosen);
  add_validate(program, chosen);
  add_calibrate_host(program, chosen);
  add_import(program, chosen);
  add_traffic(program, chosen);
  add_gpu(program, chosen);
  add_model(program, chosen);
  add_cluster(program, chosen);
  add_engine(program, chosen);
  add_list(program, chosen);
  add_keys(program, chosen);
  add_outcome(program, chosen);
  add_completion(program, chosen);
  add_man(program, chosen);

  if (argc > 1 && argv[1][0] != '-') {
    const std::string name = argv[1];
    const auto subcommands = program.get_subcommands({});
    if (std::ranges::none_of(subcommands, [&](auto* s) { return s->get_name() == name; })) {
      return fail(2, unknown_subcommand(program, name));
    }
  }
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      const int status = program.exit(error);
      flush_standard_output();
      return status;
    }
    const std::string unknown = unknown_option(program, {argv + 1, argv + argc});
    return fail(2, (unknown.empty() ? error.what() : unknown) +
                       "\nRun with --help for the options and examples.");
  }
  if (!chosen) {
    show("{}", program.help());
    flush_standard_output();
    return 0;
  }
  const int status = chosen();
  flush_standard_output();
  return status;
}

}  // namespace
}  // namespace foretoken

int main(int argc, char** argv) {
  using namespace foretoken;
  use_huge_pages();
  try {
    return run(argc, argv);
  } catch (...) {
    const ProgramFailure failure = current_program_failure();
    return fail(failure.status, failure.message);
  }
}
