// The files that a scenario names, told by what is in them: results that are kept for later depend
// on them as much as on the scenario.
#pragma once

#include <filesystem>
#include <string>

#include "sim/base/value.hpp"

namespace foretoken {

/// A line for every file that a string anywhere below `root` names, from `folder` or from where the
/// program was started: the string and a fingerprint of the content. TOML files are looked into
/// for files that they name. In the order of `root`, each once.
std::string named_files(const Value& root, const std::filesystem::path& folder);

/// A fingerprint of the content, 16 digits; "" if it cannot be read.
std::string fingerprint_of_file(const std::filesystem::path& path);

}  // namespace foretoken
