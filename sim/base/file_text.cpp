#include "sim/base/file_text.hpp"

#include <fstream>

#include "sim/base/error.hpp"

namespace foretoken {

std::string file_text(const std::filesystem::path& path, std::size_t bytes_max) {
  std::ifstream file(path, std::ios::binary);
  std::error_code unreachable;
  if (!file || std::filesystem::is_directory(path, unreachable)) {
    throw ConfigError({path.string()}, "cannot read this file; check the path");
  }
  // Piece by piece, as pipes and devices do not tell their length.
  constexpr std::size_t piece_bytes = std::size_t{1} << 16;
  std::string text;
  while (file) {
    const std::size_t kept = text.size();
    text.resize(kept + piece_bytes);
    file.read(text.data() + kept, piece_bytes);
    text.resize(kept + static_cast<std::size_t>(file.gcount()));
    if (text.size() > bytes_max) throw ConfigError({path.string()}, too_long_message(bytes_max));
  }
  return text;
}

std::string too_long_message(std::size_t bytes_max) {
  return fmt::format("is longer than {} MiB; is this the right file?", bytes_max >> 20);
}

}  // namespace foretoken
