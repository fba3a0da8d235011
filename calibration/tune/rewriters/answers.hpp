// What rewriters that ask somebody else share: launches as they are told, and failures.
#pragma once

#include <string>
#include <vector>

#include "calibration/tune/rewriter.hpp"
#include "sim/base/value.hpp"

namespace foretoken::tune {

/// As a problem's header writes them; read_launches() reads them again.
Value launches_as_values(const std::vector<Launch>& launches);

/// A rewriting that came to nothing, and why.
Rewrite failed_rewrite(Status status, std::string detail);

}  // namespace foretoken::tune
