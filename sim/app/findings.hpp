// What `gpu check` and `cluster check` print: a line a finding, in the way of a compiler.
#pragma once

#include <string>
#include <vector>

#include "hardware/cluster.hpp"

namespace foretoken {

/// Prints the findings of the file `path`, or that `name` is complete and plausible. Returns the
/// exit status: 1 if a finding is an error.
int print_findings(const std::string& path, const std::string& name,
                   const std::vector<Finding>& findings);

}  // namespace foretoken
