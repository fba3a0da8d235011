// Specs by name (embedded) and by path (the user's files). It knows nothing of what they say.
#include "hardware/spec_source.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "sim/base/embedded_toml.hpp"
#include "sim/base/toml.hpp"

namespace foretoken {

bool is_spec_path(std::string_view name_or_path) {
  return name_or_path.find('/') != std::string_view::npos || name_or_path.ends_with(".toml");
}

bool is_spec_name(std::string_view text) {
  return !text.empty() && !is_spec_path(text) && std::ranges::all_of(text, [](unsigned char c) {
    return std::islower(c) != 0 || std::isdigit(c) != 0 || c == '-' || c == '_' || c == '.';
  });
}

std::vector<std::string> spec_names(std::span<const EmbeddedFile> files) {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : files) names.emplace_back(file.stem);
  std::ranges::sort(names);
  return names;
}

const EmbeddedFile* find_spec(std::span<const EmbeddedFile> files, std::string_view name) {
  const auto found = std::ranges::find(files, name, &EmbeddedFile::stem);
  return found == files.end() ? nullptr : &*found;
}

const Value& parse_spec(const EmbeddedFile& file, std::string_view folder) {
  return parse_embedded(file, fmt::format("hardware/specs/{}/{}.toml", folder, file.stem));
}

Value load_spec_file(const std::string& path, std::string_view kind,
                     const SourcePosition& asked_at) {
  std::error_code unreachable;
  if (!std::filesystem::exists(path, unreachable)) {
    throw ConfigError(asked_at, fmt::format("the {} file '{}' does not exist", kind, path),
                      Mistake::slip);
  }
  return load_toml(path);
}

Value spec_table(const Value* table, const Value& root) {
  if (table != nullptr) return *table;
  Value absent;
  absent.position = root.position;
  return absent;
}

}  // namespace foretoken
