#include "calibration/tune/device/gpu_turn.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "sim/base/error.hpp"

namespace foretoken::tune {
namespace {

constexpr mode_t readable_by_all = 0644;

/// Opened for reading, which is enough to lock it, so that whoever comes first shuts nobody out,
/// whatever his umask is. -1 if that fails, or if something else than a file stands there.
int open_lock(const std::string& path) {
  constexpr int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  int file = open(path.c_str(), flags);
  if (file < 0 && errno == ENOENT) {
    file = open(path.c_str(), flags | O_CREAT | O_EXCL, readable_by_all);
    if (file >= 0) {
      (void)fchmod(file, readable_by_all);
    } else if (errno == EEXIST) {  // somebody was faster
      file = open(path.c_str(), flags);
    }
  }
  struct stat status {};
  if (file < 0 || (fstat(file, &status) == 0 && S_ISREG(status.st_mode))) return file;
  close(file);
  return -1;
}

}  // namespace

GpuTurn::GpuTurn(const std::string& path) : file_(open_lock(path)) {
  // Somebody's file that cannot be read is no reason not to work: the user's own then.
  if (file_ < 0) file_ = open_lock(fmt::format("{}.{}", path, getuid()));
  if (file_ < 0) throw ConfigError({path, 0, 0}, "cannot be opened to take turns on the GPU");
  while (flock(file_, LOCK_EX) != 0 && errno == EINTR) continue;
}

GpuTurn::~GpuTurn() { close(file_); }

std::string GpuTurn::path() {
  const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
  std::string name = "foretoken-tune-gpu-";
  for (const char* c = visible == nullptr ? "all" : visible; *c != '\0'; ++c) {
    name += std::isalnum(static_cast<unsigned char>(*c)) != 0 ? *c : '_';
  }
  return (std::filesystem::temp_directory_path() / (name + ".lock")).string();
}

}  // namespace foretoken::tune
