// What the programs of calibration/ print: tables as wide as they are.
#pragma once

#include <utility>

#include "sim/terminal/terminal.hpp"

namespace foretoken {

/// To standard output. Throws std::runtime_error if that does not take it.
template <class... Arguments>
void say(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  show_data(fmt::format(format, std::forward<Arguments>(arguments)...));
}

}  // namespace foretoken
