// Whose turn it is on a GPU that several programs judge kernels on: two timings at once would both
// be wrong. A lock on a file of the machine; it is free again when its holder ends, however it
// ends.
#pragma once

#include <string>

namespace foretoken::tune {

class GpuTurn {
 public:
  /// Waits until nobody else has the turn, of whatever user; where another's file cannot be read,
  /// nobody else of this user (PATH.UID). Throws ConfigError if no file can be opened.
  explicit GpuTurn(const std::string& path);
  ~GpuTurn();
  GpuTurn(const GpuTurn&) = delete;
  GpuTurn& operator=(const GpuTurn&) = delete;

  /// One file for each set of visible GPUs (CUDA_VISIBLE_DEVICES), in the folder for temporary
  /// files.
  static std::string path();

 private:
  int file_ = -1;
};

}  // namespace foretoken::tune
