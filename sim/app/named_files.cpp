#include "sim/app/named_files.hpp"

#include <fmt/format.h>

#include <fstream>
#include <set>
#include <string_view>

#include "sim/base/change.hpp"
#include "sim/base/error.hpp"
#include "sim/base/fingerprint.hpp"
#include "sim/base/toml.hpp"

namespace foretoken {
namespace {

namespace fs = std::filesystem;

class FileSearch {
 public:
  void look(const Value& value, const fs::path& folder) {
    if (const auto* text = std::get_if<std::string>(&value.data)) {
      add(*text, folder);
      // "histograms:FILE"
      if (const auto colon = text->find(':'); colon != std::string::npos)
        add(text->substr(colon + 1), folder);
    } else if (const auto* list = std::get_if<ValueArray>(&value.data)) {
      for (const Value& element : *list) look(element, folder);
    } else if (const auto* members = std::get_if<ValueObject>(&value.data)) {
      for (const auto& [key, member] : *members) look(member, folder);
    }
  }

  std::vector<NamedFile> found;

 private:
  void add(const std::string& name, const fs::path& folder) {
    // An imported model may be named by the folder that its config.json is in.
    for (const fs::path& path : {folder / name, fs::path(name), fs::path(name) / "config.json"}) {
      std::error_code ignored;
      if (name.empty() || !fs::is_regular_file(path, ignored)) continue;
      if (!seen_.insert(fs::weakly_canonical(path, ignored).string()).second) continue;
      found.push_back({name, path});
      if (path.extension() != ".toml") continue;
      try {
        look(load_toml(path), path.parent_path());
      } catch (const ConfigError&) {
        // Whoever loads it says what is wrong with it.
      }
    }
  }

  std::set<std::string> seen_;
};

/// Of the content, 16 digits; "" if it cannot be read.
std::string fingerprint_of_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return "";
  Fingerprint fingerprint;
  std::string part(1 << 20, '\0');
  while (file.read(part.data(), static_cast<std::streamsize>(part.size())) || file.gcount() > 0)
    fingerprint.add(std::string_view(part.data(), static_cast<std::size_t>(file.gcount())));
  return fmt::format("{:016x}", fingerprint.value());
}

}  // namespace

std::vector<NamedFile> named_files(const Value& root, const fs::path& folder) {
  FileSearch search;
  search.look(root, folder);
  return std::move(search.found);
}

std::vector<fs::path> inputs_of(const fs::path& scenario,
                                const std::vector<std::string>& overrides) {
  Value root = load_toml(scenario, FileKind::scenario);
  apply_changes(root, parse_changes(overrides));
  std::vector<fs::path> inputs = {scenario};
  for (NamedFile& file : named_files(root, scenario.parent_path()))
    inputs.push_back(std::move(file.path));
  return inputs;
}

std::string question_of(Value root, const fs::path& scenario, const SimulatingProgram& program,
                        const std::vector<std::string>& choices) {
  constexpr std::string_view chosen = "chosen";
  root.set(chosen, ValueArray(choices.begin(), choices.end()));
  std::string files;
  for (const NamedFile& file : named_files(root, scenario.parent_path()))
    files += fmt::format("{} {}\n", file.name, fingerprint_of_file(file.path));
  std::erase_if(std::get<ValueObject>(root.data), [&](const auto& member) {
    return member.first == "plan" || member.first == chosen;
  });
  return fmt::format("foretoken {} {}\n{}{}", program.version, fingerprint_of_file(program.file),
                     files, to_toml(root));
}

}  // namespace foretoken
