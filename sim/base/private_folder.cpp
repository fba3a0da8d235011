#include "sim/base/private_folder.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <system_error>

#include "sim/base/error.hpp"

namespace foretoken {

PrivateFolder::PrivateFolder(std::string_view name) : owner_(getpid()) {
  std::string pattern =
      (std::filesystem::temp_directory_path() / fmt::format("{}-XXXXXX", name)).string();
  if (mkdtemp(pattern.data()) == nullptr) {
    throw ConfigError({pattern},
                      fmt::format("cannot create this folder: {}; set TMPDIR to another one",
                                  std::generic_category().message(errno)));
  }
  path_ = pattern;
}

PrivateFolder::~PrivateFolder() {
  std::error_code ignored;
  if (owner_ == getpid()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace foretoken
