#include "sim/terminal/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <stdexcept>
#include <system_error>

#include "sim/base/printable.hpp"
#include "sim/report/terminal_text.hpp"

namespace foretoken {
namespace {

constexpr int width_min = 40, width_max = 160, width_usual = 100;

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool is_terminal(std::FILE* stream) { return isatty(fileno(stream)) == 1; }

}  // namespace

bool can_rewrite(std::FILE* stream) { return is_terminal(stream) && environment("TERM") != "dumb"; }

bool shows_colour(std::FILE* stream) {
  return can_rewrite(stream) && environment("NO_COLOR").empty();
}

int terminal_width(std::FILE* stream) {
  const std::string_view told = environment("COLUMNS");
  int columns = 0;
  std::from_chars(told.data(), told.data() + told.size(), columns);
  winsize size{};
  if (columns <= 0 && is_terminal(stream) && ioctl(fileno(stream), TIOCGWINSZ, &size) == 0)
    columns = size.ws_col;
  return columns <= 0 ? width_usual : std::clamp(columns, width_min, width_max);
}

void show_text(std::string_view text) {
  if (!is_terminal(stdout) && environment("COLUMNS").empty()) return show_data(text);
  std::string lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1);
    const std::string_view line = text.substr(0, end + 1);
    const auto indent = static_cast<int>(std::min(line.find_first_not_of(' '), line.size()));
    lines += folded(line, terminal_width(stdout), indent + 2);
    text.remove_prefix(end + 1);
  }
  show_data(lines);
}

void show_data(std::string_view text) {
  const std::string shown =
      printable(text, shows_colour(stdout) ? Colours::kept : Colours::removed);
  if (std::fwrite(shown.data(), 1, shown.size(), stdout) == shown.size()) return;
  throw std::runtime_error("cannot write to standard output: " +
                           std::generic_category().message(errno));
}

void tell_text(std::string_view text) {
  const std::string shown = printable(text);
  std::fwrite(shown.data(), 1, shown.size(), stderr);
}

void rewrite_line(std::string_view text) {
  // The last column stays free: some terminals go on to the next line with it.
  const std::string line = "\r\x1b[K" + fitted(printable(text), terminal_width(stderr) - 1);
  std::fwrite(line.data(), 1, line.size(), stderr);
  std::fflush(stderr);
}

}  // namespace foretoken
