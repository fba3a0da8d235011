#include "sim/terminal/help_format.hpp"

#include "sim/report/terminal_text.hpp"
#include "sim/terminal/terminal.hpp"

namespace foretoken {
namespace {

constexpr int text_column = 28;  // where descriptions begin

int width() { return terminal_width(stdout); }

/// "  --name TEXT   what it does", over as many lines as it takes.
std::string entry(const std::string& name, const std::string& text) {
  const std::string begin = "  " + name;
  const bool is_long = display_width(begin) + 2 > text_column;
  const std::string gap = is_long ? "\n" + std::string(text_column, ' ') : "";
  const std::string first = is_long ? "" : padded(begin, text_column, Align::left);
  const std::string body = folded(text, width() - text_column, 0);
  std::string lines = is_long ? folded(begin, width(), 6) + gap : first;
  for (const char c : body)
    lines += c == '\n' ? "\n" + std::string(text_column, ' ') : std::string(1, c);
  return lines + "\n";
}

/// Prose is set anew; a command, which stands indented, goes on after a backslash.
std::string set_footer(const std::string& footer) {
  std::string lines, paragraph, command;
  const auto end_paragraph = [&] {
    if (!paragraph.empty()) lines += folded(paragraph, width(), 0) + "\n";
    paragraph.clear();
  };
  std::size_t start = 0;
  while (start < footer.size()) {
    const std::size_t end = std::min(footer.find('\n', start), footer.size());
    const std::string line = footer.substr(start, end - start);
    start = end + 1;
    if (!line.starts_with(' ')) {
      paragraph += (paragraph.empty() ? "" : " ") + line;
      if (line.ends_with(':')) end_paragraph();
      continue;
    }
    end_paragraph();
    // Of a command that was written over several lines, the others without their indent.
    command += command.empty() ? line : line.substr(line.find_first_not_of(' '));
    if (command.ends_with(" \\")) {
      command.pop_back();
      continue;
    }
    lines += folded_command(command, width()) + "\n";
    command.clear();
  }
  end_paragraph();
  return lines;
}

}  // namespace

std::string HelpFormat::make_usage(const CLI::App* app, std::string name) const {
  return folded(Formatter::make_usage(app, std::move(name)), width(), 4);
}

std::string HelpFormat::make_description(const CLI::App* app) const {
  return folded(Formatter::make_description(app), width(), 0);
}

std::string HelpFormat::make_option(const CLI::Option* option, bool is_positional) const {
  return entry(make_option_name(option, is_positional) + make_option_opts(option),
               make_option_desc(option));
}

std::string HelpFormat::make_subcommand(const CLI::App* command) const {
  return entry(command->get_name(), command->get_description());
}

std::string HelpFormat::make_footer(const CLI::App* app) const {
  return set_footer(app->get_footer());
}

}  // namespace foretoken
