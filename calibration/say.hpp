// What the programs of calibration/ print: names from users' files are shown as text, whatever they
// hold, and a full disk is an error.
#pragma once

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "sim/base/printable.hpp"

namespace foretoken {

/// To standard output. Throws std::runtime_error if that does not take it.
template <class... Arguments>
void say(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  const std::string shown = printable(fmt::format(format, std::forward<Arguments>(arguments)...));
  if (std::fwrite(shown.data(), 1, shown.size(), stdout) == shown.size()) return;
  throw std::runtime_error("cannot write to standard output: " +
                           std::generic_category().message(errno));
}

/// To standard error.
template <class... Arguments>
void say_beside(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  const std::string shown = printable(fmt::format(format, std::forward<Arguments>(arguments)...));
  std::fwrite(shown.data(), 1, shown.size(), stderr);
}

}  // namespace foretoken
