// The program as a child process, for benches of whole runs.
#pragma once

#include <string>

namespace foretoken {

/// What it prints when it is run with `arguments` from the project's folder. A status other than 0
/// is an InternalError.
std::string program_output(const std::string& arguments);

}  // namespace foretoken
