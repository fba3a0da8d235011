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

/// The program that simulates, and where it is: runs of another one, be it only built from other
/// sources, are not taken from a store.
struct SimulatingProgram {
  std::string version;
  std::filesystem::path file;
};

/// All that the outcome of a run of `root` depends on besides its own keys: the scenario without
/// [plan], the content of all files that it, [plan] and `choices` name, and the program. Runs that
/// different comparisons, sweeps and plans share are the same question's.
std::string question_of(Value root, const std::filesystem::path& scenario,
                        const SimulatingProgram& program,
                        const std::vector<std::string>& choices = {});

}  // namespace foretoken
