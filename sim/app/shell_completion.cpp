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

/// Those that hold for one command alone stand before the others.
const CompletedValues* values_of(const CommandOption& option, const Path& path,
                                 const std::vector<CompletedValues>& values) {
  for (const CompletedValues& known : values) {
    if (!known.command.empty() && known.command != path.words) continue;
    const std::string name = option.is_positional ? known.argument : "--" + known.argument;
    if (std::ranges::find(option.names, name) != option.names.end()) return &known;
  }
  return nullptr;
}

/// What may follow a command: its subcommands, its options and the names of its arguments.
std::vector<std::string> words_after(const Path& path, const std::vector<CompletedValues>& values) {
  std::vector<std::string> words;
  for (const CommandTree& below : path.command->subcommands) words.push_back(below.name);
  for (const CommandOption& option : path.command->options) {
    const CompletedValues* known = option.is_positional ? values_of(option, path, values) : nullptr;
    if (known != nullptr) words.insert(words.end(), known->values.begin(), known->values.end());
    if (!option.is_positional) words.insert(words.end(), option.names.begin(), option.names.end());
  }
  return words;
}

/// Of words and of commands, which have no quotes.
std::string quoted(const std::string& text) { return "'" + text + "'"; }

/// The pattern of "command option before the cursor", for `case` in bash and zsh.
std::string value_pattern(const CompletedValues& known) {
  return fmt::format("{}:--{}", known.command.empty() ? "*" : quoted(known.command),
                     known.argument);
}

std::string joined(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, " "));
}

/// Any text in fish's single quotes.
std::string fish_quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out + "'";
}

}  // namespace

std::string bash_completion(const CommandTree& program,
                            const std::vector<CompletedValues>& values) {
  std::string out = fmt::format(
      "# Completion of {0} for bash; written by `{0} completion bash`.\n_{0}() {{\n"
      "  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} typed= w "
      "list=\n"
      "  # \"--gpu=h200\" comes as three words.\n"
      "  [ \"$before\" = = ] && before=${{COMP_WORDS[COMP_CWORD-2]}}\n"
      "  [ \"$word\" = = ] && word=\n"
      "  # Of a list what follows the last comma.\n"
      "  [[ $word == *,* ]] && list=${{word%,*}}, && word=${{word##*,}}\n"
      "  for w in \"${{COMP_WORDS[@]:1:COMP_CWORD-1}}\"; do\n"
      "    case \"${{typed:+$typed }}$w\" in\n",
      program.name);
  const std::vector<Path> paths = paths_of(program);
  for (const Path& path : paths) {
    if (!path.words.empty()) out += fmt::format("      {0}) typed={0} ;;\n", quoted(path.words));
  }
  out += "    esac\n  done\n  case $typed:$before in\n";
  for (const CompletedValues& known : values) {
    out += fmt::format(
        "    {}) {}COMPREPLY=($(compgen -f -P \"$list\" -W {} -- \"$word\")); return ;;\n",
        value_pattern(known), known.goes_on ? "compopt -o nospace 2>/dev/null; " : "",
        quoted(joined(known.values)));
  }
  out += "  esac\n  case $typed in\n";
  for (const Path& path : paths) {
    out +=
        fmt::format("    {}) COMPREPLY=($(compgen {} -W {} -- \"$word\")) ;;\n", quoted(path.words),
                    path.words.empty() ? "" : "-f", quoted(joined(words_after(path, values))));
  }
  return out + fmt::format("  esac\n}}\ncomplete -o filenames -F _{0} {0}\n", program.name);
}

std::string zsh_completion(const CommandTree& program, const std::vector<CompletedValues>& values) {
  std::string out = fmt::format(
      "#compdef {0}\n# Completion of {0} for zsh; written by `{0} completion zsh`.\n"
      "_{0}() {{\n"
      "  local typed= w before=${{words[CURRENT-1]}}\n"
      "  if [[ ${{words[CURRENT]}} == --*=* ]]; then\n"
      "    before=${{words[CURRENT]%%=*}}\n    compset -P '*='\n  fi\n"
      "  for w in ${{words[2,CURRENT-1]}}; do\n    case \"${{typed:+$typed }}$w\" in\n",
      program.name);
  const std::vector<Path> paths = paths_of(program);
  for (const Path& path : paths) {
    if (!path.words.empty()) out += fmt::format("      {0}) typed={0} ;;\n", quoted(path.words));
  }
  out += "    esac\n  done\n  case $typed:$before in\n";
  for (const CompletedValues& known : values) {
    out += fmt::format("    {}) compset -P '*,'; compadd {}-- {}; _files; return ;;\n",
                       value_pattern(known), known.goes_on ? "-S '' " : "", joined(known.values));
  }
  out += "  esac\n  case $typed in\n";
  for (const Path& path : paths) {
    out += fmt::format("    {}) compadd -- {}{} ;;\n", quoted(path.words),
                       joined(words_after(path, values)), path.words.empty() ? "" : "; _files");
  }
  // Found in a folder of fpath this file is the function's body; sourced it says whose it is.
  return out + fmt::format(
                   "  esac\n}}\nif [[ ${{funcstack[1]}} == _{0} ]]; then\n  _{0} \"$@\"\n"
                   "else\n  compdef _{0} {0}\nfi\n",
                   program.name);
}

std::string fish_completion(const CommandTree& program,
                            const std::vector<CompletedValues>& values) {
  const std::vector<Path> paths = paths_of(program);
  std::string known_paths;
  for (const Path& path : paths) {
    if (!path.words.empty()) known_paths += " " + quoted(path.words);
  }
  std::string out = fmt::format(
      "# Completion of {0} for fish; written by `{0} completion fish`.\n"
      "# Whether the commands typed so far are these.\n"
      "function __{0}_at\n  set -l typed\n  set -l words (commandline -opc)\n"
      "  set -e words[1]\n  for word in $words\n"
      "    set -l longer (string trim -- \"$typed $word\")\n"
      "    contains -- \"$longer\"{1}\n    and set typed $longer\n  end\n"
      "  test \"$typed\" = \"$argv\"\nend\n"
      "# Of a list what follows the last comma is one of these.\n"
      "function __{0}_names\n"
      "  set -l typed (commandline -ct | string replace -r '^--[a-z-]+=' '')\n"
      "  set -l before (string replace -r '[^,]*$' '' -- \"$typed\")\n"
      "  printf '%s\\n' \"$before\"$argv\nend\n",
      program.name, known_paths);
  for (const Path& path : paths) {
    const auto line = [&](const std::string& rest, const std::string& description) {
      out += fmt::format("complete -c {0} -n '__{0}_at{1}' {2}{3}\n", program.name,
                         path.words.empty() ? "" : " " + path.words, rest,
                         description.empty() ? "" : " -d " + fish_quoted(description));
    };
    for (const CommandTree& below : path.command->subcommands)
      line("-f -a " + below.name, below.description);
    for (const CommandOption& option : path.command->options) {
      const CompletedValues* known = values_of(option, path, values);
      const std::string names = known == nullptr ? ""
                                                 : fmt::format(" -a '(__{}_names {})'",
                                                               program.name, joined(known->values));
      if (option.is_positional) {
        if (known != nullptr) line(names.substr(1), option.description);
        continue;
      }
      for (const std::string& name : option.names) {
        if (!name.starts_with("--")) continue;
        line(fmt::format("-l {}{}{}", name.substr(2), option.takes_value ? " -r" : "", names),
             option.description);
      }
    }
  }
  return out;
}

}  // namespace foretoken
