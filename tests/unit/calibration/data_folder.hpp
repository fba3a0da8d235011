// A folder laid out as FORETOKEN_DATA, made of a few lines by a test and removed after it.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/own_folder.hpp"

namespace foretoken {

class DataFolder {
 public:
  DataFolder() {
    path_ = own_folder() / "files";
    std::filesystem::create_directories(path_);
    std::filesystem::create_directories(path_ / "kernels");
  }
  ~DataFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  DataFolder(const DataFolder&) = delete;
  DataFolder& operator=(const DataFolder&) = delete;

  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name) << text;
  }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace foretoken
