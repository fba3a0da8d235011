// How our programs end when something fails: one rule from exceptions to what is said and the exit
// status, so that the same mistake ends every program alike. 1 ran but something failed, 2 the
// user's mistake, 3 our bug, 130 stopped by Ctrl-C before there was an answer.
#pragma once

#include <string>

namespace foretoken {

struct ProgramFailure {
  int status = 0;
  std::string message;
};

/// Of the exception that is being handled: for the only catch of a program, `catch (...)`.
ProgramFailure current_program_failure();

}  // namespace foretoken
