// The man page: every command with its options and examples, in the words of --help.
#include <fmt/format.h>

#include "sim/app/command_tree.hpp"

namespace foretoken {
namespace {

/// Text that roff leaves alone: no backslash, hyphen or leading dot of ours means anything there.
std::string escaped(const std::string& text) {
  std::string out;
  bool line_starts = true;
  for (const char c : text) {
    if (line_starts && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
    line_starts = c == '\n';
  }
  return out;
}

std::string names_text(const CommandOption& option) {
  std::string text;
  for (const std::string& name : option.names) {
    text += (text.empty() ? "" : ", ") + fmt::format("\\fB{}\\fR", escaped(name));
  }
  return text + (option.takes_value && !option.is_positional ? " \\fIVALUE\\fR" : "");
}

void append_options(std::string& out, const CommandTree& command) {
  for (const CommandOption& option : command.options) {
    out += fmt::format(".TP\n{}\n{}\n", names_text(option), escaped(option.description));
  }
}

void append_footer(std::string& out, const CommandTree& command) {
  if (!command.footer.empty()) out += fmt::format(".PP\n.nf\n{}\n.fi\n", escaped(command.footer));
}

void append_command(std::string& out, const CommandTree& command, const std::string& before) {
  const std::string name = before + " " + command.name;
  out += fmt::format(".SS \"{}\"\n{}\n", escaped(name), escaped(command.description));
  append_options(out, command);
  append_footer(out, command);
  for (const CommandTree& below : command.subcommands) append_command(out, below, name);
}

}  // namespace

std::string man_page(const CommandTree& program, const std::string& version) {
  const std::string& name = program.name;
  const std::string summary = program.description.substr(0, program.description.find('\n'));
  std::string out = fmt::format(".TH {} 1 \"\" \"{} {}\" \"User Commands\"\n",
                                name == "foretoken" ? "FORETOKEN" : name, name, version);
  out += fmt::format(".SH NAME\n{} \\- {}\n", name, escaped(summary));
  out += fmt::format(".SH SYNOPSIS\n.B {}\n.I command\n[\\fIoptions\\fR]\n", name);
  out += fmt::format(".SH DESCRIPTION\n.nf\n{}\n.fi\n", escaped(program.description));
  append_options(out, program);
  out += ".SH COMMANDS\n";
  for (const CommandTree& command : program.subcommands) append_command(out, command, name);
  return out + fmt::format(".SH EXIT STATUS\n.nf\n{}\n.fi\n", escaped(program.footer));
}

}  // namespace foretoken
