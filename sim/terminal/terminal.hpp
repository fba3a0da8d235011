// The terminal that the program talks to, and the only way there: show() for answers that people
// read, show_data() for those that programs read (JSON, TOML, scripts), tell() for what is said
// beside them. Names and titles of a user's files are shown as text, whatever they hold.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

namespace foretoken {

/// Whether `stream` is a terminal that shows colours: NO_COLOR is unset or empty, and TERM is not
/// "dumb".
bool shows_colour(std::FILE* stream);
/// Whether a line on `stream` can be written over, for progress: a terminal, and not a dumb one.
bool can_rewrite(std::FILE* stream);
/// Columns to fill: COLUMNS if it says so, else those of the terminal behind `stream`, 100 when it
/// is none; at least 40, at most 160.
int terminal_width(std::FILE* stream);

/// To standard output, on lines no wider than the terminal or COLUMNS. Throws std::runtime_error if
/// that does not take it.
void show_text(std::string_view text);
/// The same on lines as they are.
void show_data(std::string_view text);
/// To standard error.
void tell_text(std::string_view text);

template <class... Arguments>
void show(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  show_text(fmt::format(format, std::forward<Arguments>(arguments)...));
}
template <class... Arguments>
void tell(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  tell_text(fmt::format(format, std::forward<Arguments>(arguments)...));
}

/// One line on standard error that says how far something is; never wider than the terminal, gone
/// with the next one or with "". For can_rewrite(stderr).
void rewrite_line(std::string_view text);

}  // namespace foretoken
