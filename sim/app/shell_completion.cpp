// Completions for bash, zsh and fish: commands, their options, and the names that an option's value
// may have; everywhere else files.
#include <fmt/format.h>

#include <algorithm>

#include "sim/app/command_tree.hpp"

namespace foretoken {
namespace {

/// Every command that can be typed, "gpu" and "gpu show", the program itself as "".
struct Path {
  std::string words;
  const CommandTree* command;
};

void append_paths(std::vector<Path>& paths, const CommandTree& command, const std::string& words) {
  paths.push_back({words, &command});
  for (const CommandTree& below : command.subcommands) {
    append_paths(paths, below, words.empty() ? below.name : words + " " + below.name);
  }
}

std::vector<Path> paths_of(const CommandTree& program) {
  std::vector<Path> paths;
  append_paths(paths, program, "");
  return paths;
}

/// What may follow a command: its subcommands and its options.
std::vector<std::string> words_after(const CommandTree& command) {
  std::vector<std::string> words;
  for (const CommandTree& below : command.subcommands) words.push_back(below.name);
  for (const CommandOption& option : command.options) {
    if (option.is_positional) continue;
    words.insert(words.end(), option.names.begin(), option.names.end());
  }
  return words;
}

/// For single quotes in all three shells: none of our texts needs the quote itself.
std::string quoted(std::string text) {
  std::ranges::replace(text, '\'', ' ');
  std::ranges::replace(text, '\n', ' ');
  return "'" + text + "'";
}

const CompletedValues* values_of(const CommandOption& option,
                                 const std::vector<CompletedValues>& values) {
  for (const CompletedValues& known : values) {
    if (std::ranges::find(option.names, known.option) != option.names.end()) return &known;
  }
  return nullptr;
}

}  // namespace

std::string bash_completion(const CommandTree& program,
                            const std::vector<CompletedValues>& values) {
  std::string out = fmt::format(
      "# Completion of {0} for bash; written by `{0} completion bash`.\n_{0}() {{\n"
      "  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} typed= w\n"
      "  for w in \"${{COMP_WORDS[@]:1:COMP_CWORD-1}}\"; do\n"
      "    case \"${{typed:+$typed }}$w\" in\n",
      program.name);
  const std::vector<Path> paths = paths_of(program);
  for (const Path& path : paths) {
    if (!path.words.empty()) out += fmt::format("      {0}) typed={0} ;;\n", quoted(path.words));
  }
  out += "    esac\n  done\n  case $before in\n";
  for (const CompletedValues& known : values) {
    out += fmt::format("    {}) COMPREPLY=($(compgen -f -W {} -- \"$word\")); return ;;\n",
                       known.option, quoted(fmt::format("{}", fmt::join(known.values, " "))));
  }
  out += "  esac\n  case $typed in\n";
  for (const Path& path : paths) {
    out += fmt::format("    {}) COMPREPLY=($(compgen {} -W {} -- \"$word\")) ;;\n",
                       quoted(path.words), path.words.empty() ? "" : "-f",
                       quoted(fmt::format("{}", fmt::join(words_after(*path.command), " "))));
  }
  return out + fmt::format("  esac\n}}\ncomplete -o filenames -F _{0} {0}\n", program.name);
}

std::string zsh_completion(const CommandTree& program, const std::vector<CompletedValues>& values) {
  std::string out = fmt::format(
      "#compdef {0}\n# Completion of {0} for zsh; written by `{0} completion zsh`.\n"
      "local typed= w\n"
      "for w in ${{words[2,CURRENT-1]}}; do\n  case \"${{typed:+$typed }}$w\" in\n",
      program.name);
  const std::vector<Path> paths = paths_of(program);
  for (const Path& path : paths) {
    if (!path.words.empty()) out += fmt::format("    {0}) typed={0} ;;\n", quoted(path.words));
  }
  out += "  esac\ndone\ncase ${words[CURRENT-1]} in\n";
  for (const CompletedValues& known : values) {
    out += fmt::format("  {}) compadd -- {}; _files; return ;;\n", known.option,
                       fmt::join(known.values, " "));
  }
  out += "esac\ncase $typed in\n";
  for (const Path& path : paths) {
    out += fmt::format("  {}) compadd -- {}{} ;;\n", quoted(path.words),
                       fmt::join(words_after(*path.command), " "),
                       path.words.empty() ? "" : "; _files");
  }
  return out + "esac\n";
}

std::string fish_completion(const CommandTree& program,
                            const std::vector<CompletedValues>& values) {
  std::string out = fmt::format("# Completion of {0} for fish; written by `{0} completion fish`.\n",
                                program.name);
  const auto line = [&](const std::string& condition, const std::string& rest) {
    out += fmt::format("complete -c {} -n {} {}\n", program.name, quoted(condition), rest);
  };
  for (const CommandTree& command : program.subcommands) {
    line("__fish_use_subcommand",
         fmt::format("-f -a {} -d {}", command.name, quoted(command.description)));
  }
  for (const Path& path : paths_of(program)) {
    if (path.words.empty()) continue;
    std::string condition = "__fish_seen_subcommand_from ";
    for (const char c : path.words) {
      condition += c == ' ' ? std::string("; and __fish_seen_subcommand_from ") : std::string(1, c);
    }
    for (const CommandTree& below : path.command->subcommands) {
      line(condition, fmt::format("-a {} -d {}", below.name, quoted(below.description)));
    }
    for (const CommandOption& option : path.command->options) {
      if (option.is_positional || !option.names.front().starts_with("--")) continue;
      const CompletedValues* known = values_of(option, values);
      line(condition,
           fmt::format(
               "-l {}{}{} -d {}", option.names.front().substr(2), option.takes_value ? " -r" : "",
               known == nullptr ? std::string()
                                : " -a " + quoted(fmt::format("{}", fmt::join(known->values, " "))),
               quoted(option.description)));
    }
  }
  return out;
}

}  // namespace foretoken
