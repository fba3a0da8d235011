#include "sim/app/output_file.hpp"

#include <fstream>

#include "sim/base/error.hpp"

namespace foretoken {

void make_folder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw ConfigError({folder.string()}, "cannot make this folder: " + error.message());
}

void write_file(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) throw ConfigError({path.string()}, "cannot write this file; check the path and space");
}

void check_folder_of(const std::filesystem::path& path) {
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  std::error_code ignored;
  if (!std::filesystem::is_directory(folder, ignored))
    throw ConfigError({path.string()}, "its folder does not exist; make it first");
}

}  // namespace foretoken
