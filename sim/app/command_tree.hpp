// The command line as plain data, read off the parser: what man page and shell completions are
// written from, so that they say what --help says.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace foretoken {

struct CommandOption {
  std::vector<std::string> names;  // "--gpu", "-h"; of a positional argument its name: "scenario"
  bool is_positional = false;
  bool is_required = false;
  bool takes_value = false;
  std::string description;
};

struct CommandTree {
  std::string name;  // "gpu"
  std::string description;
  std::vector<CommandOption> options;
  std::string footer;  // examples, exit status
  std::vector<CommandTree> subcommands;
};

CommandTree command_tree(const CLI::App& program);

/// A man page in section 1 (roff) of the whole program.
std::string man_page(const CommandTree& program, const std::string& version);

/// Names that the value of an option or of a positional argument may be, which completions offer
/// beside files.
struct CompletedValues {
  std::string argument;  // "gpu": of "--gpu" and of the positional "gpu"
  std::vector<std::string> values;
  std::string command = {};  // "select": there alone, where the name means something else
  bool goes_on = false;      // more is typed behind a value, without a space
};

std::string bash_completion(const CommandTree& program, const std::vector<CompletedValues>& values);
std::string zsh_completion(const CommandTree& program, const std::vector<CompletedValues>& values);
std::string fish_completion(const CommandTree& program, const std::vector<CompletedValues>& values);

}  // namespace foretoken
