// TOML files that were compiled into the program, parsed once: every run of a sweep asks for the
// same GPU, model and preset.
#pragma once

#include <string>

#include "sim/base/embedded.hpp"
#include "sim/base/value.hpp"

namespace foretoken {

/// parse_toml() of `file`, at the first time of this thread; a forked child has what its parent's
/// thread has parsed. `source` names it in positions, by the same name always.
const Value& parse_embedded(const EmbeddedFile& file, const std::string& source);

}  // namespace foretoken
