// A folder of this process's own, gone when it ends: tests run side by side, each in a process, and
// what others have left in the folder for temporary files is none of their business.
#pragma once

#include "sim/base/private_folder.hpp"

namespace foretoken {

inline const std::filesystem::path& own_folder() {
  static const PrivateFolder folder("foretoken-test");
  return folder.path();
}

}  // namespace foretoken
