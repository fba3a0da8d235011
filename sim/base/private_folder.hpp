// A folder for files that a process needs for a while: with a name that nobody can guess or have
// taken, readable by its user alone, gone with the object.
#pragma once

#include <filesystem>
#include <string_view>

namespace foretoken {

class PrivateFolder {
 public:
  /// Makes NAME-?????? in the folder for temporary files. Throws ConfigError.
  explicit PrivateFolder(std::string_view name);
  ~PrivateFolder();
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  int owner_;  // process: a forked child takes nothing away
};

}  // namespace foretoken
