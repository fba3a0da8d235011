// The files that a scenario names, told by what is in them: results that are kept for later depend
// on them as much as on the scenario.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "sim/base/value.hpp"

namespace foretoken {

/// A file and the string that names it.
struct NamedFile {
  std::string name;
  std::filesystem::path path;
};

/// Every file that a string anywhere below `root` names, from `folder` or from where the program
/// was started. TOML files are looked into for files that they name. In the order of `root`, each
/// once.
std::vector<NamedFile> named_files(const Value& root, const std::filesystem::path& folder);

/// What running a scenario reads: its file and those that it and --set name. For Outputs.
std::vector<std::filesystem::path> inputs_of(const std::filesystem::path& scenario,
                                             const std::vector<std::string>& overrides);

/// A line a file: its name and a fingerprint of the content.
std::string fingerprints(const std::vector<NamedFile>& files);

/// A fingerprint of the content, 16 digits; "" if it cannot be read.
std::string fingerprint_of_file(const std::filesystem::path& path);

}  // namespace foretoken
