// A whole file as text, bounded: no reader of ours takes more than it can hold in memory.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace foretoken {

/// Throws ConfigError for a file that cannot be read, or that is longer than `bytes_max`.
std::string file_text(const std::filesystem::path& path, std::size_t bytes_max);

/// What is said of a text beyond `bytes_max`.
std::string too_long_message(std::size_t bytes_max);

}  // namespace foretoken
