#include "calibration/tune/device/gpu_turn.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "sim/base/error.hpp"

namespace foretoken::tune {

GpuTurn::GpuTurn(const std::string& path) {
  file_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
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
