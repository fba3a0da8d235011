#include "sim/app/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace foretoken {

bool is_terminal(std::FILE* stream) { return isatty(fileno(stream)) == 1; }

bool shows_colour(std::FILE* stream) {
  return is_terminal(stream) && std::getenv("NO_COLOR") == nullptr;
}

int terminal_width(std::FILE* stream) {
  winsize size{};
  if (!is_terminal(stream) || ioctl(fileno(stream), TIOCGWINSZ, &size) != 0 || size.ws_col == 0) {
    return 100;
  }
  return std::clamp<int>(size.ws_col, 60, 160);
}

}  // namespace foretoken
