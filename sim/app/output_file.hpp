// Files that a subcommand writes for the user.
#pragma once

#include <filesystem>
#include <string>

namespace foretoken {

/// Makes `folder` with its parents if it is not there. Throws ConfigError.
void make_folder(const std::filesystem::path& folder);
/// Writes `text` as the whole file. Throws ConfigError if the disk refuses.
void write_file(const std::filesystem::path& path, const std::string& text);

/// Throws ConfigError if the folder that `path` is to be written to is not there: better told
/// before hours of work than after.
void check_folder_of(const std::filesystem::path& path);

}  // namespace foretoken
