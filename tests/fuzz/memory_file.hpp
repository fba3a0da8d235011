// A file that exists only in memory and has a path: for loaders that open what they read.
#pragma once

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "sim/base/error.hpp"

namespace foretoken {

class MemoryFile {
 public:
  MemoryFile(const std::uint8_t* data, std::size_t size) : descriptor_(memfd_create("fuzz", 0)) {
    FORETOKEN_CHECK(descriptor_ >= 0, "memfd_create failed");
    FORETOKEN_CHECK(write(descriptor_, data, size) == static_cast<ssize_t>(size), "short write");
  }
  ~MemoryFile() { close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  [[nodiscard]] std::string path() const { return fmt::format("/proc/self/fd/{}", descriptor_); }

 private:
  int descriptor_;
};

}  // namespace foretoken
