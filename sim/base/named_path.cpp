#include "sim/base/named_path.hpp"

namespace foretoken {

bool is_option(const SourcePosition& position) { return position.file.starts_with("--"); }

std::filesystem::path named_path(std::string_view name, const SourcePosition& position,
                                 const std::filesystem::path& folder) {
  return is_option(position) ? std::filesystem::path(name) : folder / name;
}

}  // namespace foretoken
