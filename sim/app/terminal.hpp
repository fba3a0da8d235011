// What the program needs to know of the terminal it talks to.
#pragma once

#include <cstdio>

namespace foretoken {

/// Whether `stream` is a terminal that shows colours (NO_COLOR unset).
bool shows_colour(std::FILE* stream);
bool is_terminal(std::FILE* stream);
/// Columns of the terminal behind `stream`, 100 when it is none; at least 60, at most 160.
int terminal_width(std::FILE* stream);

}  // namespace foretoken
