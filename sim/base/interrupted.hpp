// What ends a command that SIGINT or SIGTERM stops: no mistake and no failure, which is why
// programs end with a status of its own for it.
#pragma once

#include <stdexcept>

namespace foretoken {

/// The exit status of a program that was stopped, as shells call one that SIGINT ended.
inline constexpr int status_interrupted = 130;

/// SIGINT or SIGTERM came while runs were under way; these are abandoned.
class Interrupted : public std::runtime_error {
 public:
  Interrupted() : std::runtime_error("interrupted") {}
};

}  // namespace foretoken
