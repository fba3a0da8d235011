#include "sim/app/command_tree.hpp"

namespace foretoken {
namespace {

CommandOption option_of(const CLI::Option& option) {
  CommandOption made;
  made.is_positional = option.get_positional();
  made.is_required = option.get_required();
  made.takes_value = option.get_items_expected_max() > 0;
  made.description = option.get_description();
  for (const std::string& name : option.get_lnames()) made.names.push_back("--" + name);
  for (const std::string& name : option.get_snames()) made.names.push_back("-" + name);
  if (made.is_positional && made.names.empty()) made.names = {option.get_name(true)};
  return made;
}

}  // namespace

CommandTree command_tree(const CLI::App& program) {
  CommandTree tree{program.get_name(), program.get_description(), {}, program.get_footer(), {}};
  for (const CLI::Option* option : program.get_options()) {
    tree.options.push_back(option_of(*option));
  }
  const auto is_shown = [](const CLI::App* command) { return !command->get_group().empty(); };
  for (const CLI::App* subcommand : program.get_subcommands(is_shown)) {
    tree.subcommands.push_back(command_tree(*subcommand));
  }
  return tree;
}

}  // namespace foretoken
