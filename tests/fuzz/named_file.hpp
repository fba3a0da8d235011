// A file in a folder of the process's own, under a name that says what is inside: for loaders that
// go by a file's name. memory_file.hpp is quicker where the name means nothing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "tests/own_folder.hpp"

namespace foretoken {

inline std::filesystem::path named_file(std::string_view name, const std::uint8_t* data,
                                        std::size_t size) {
  std::filesystem::path path = own_folder() / name;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  return path;
}

}  // namespace foretoken
