// NCCL's operations over the first GPUs of this machine, one communicator rank a GPU.
#pragma once

#include <nccl.h>

#include <string>
#include <vector>

#include "comm_call.hpp"

namespace foretoken::measure {

class NcclGroup {
 public:
  /// Throws std::runtime_error with NCCL's message if the communicator cannot be made.
  explicit NcclGroup(int ranks);
  ~NcclGroup();
  NcclGroup(const NcclGroup&) = delete;
  NcclGroup& operator=(const NcclGroup&) = delete;

  /// All operations; send_recv (rank 0 to rank 1, one direction) only with two ranks. They refer
  /// to this group.
  [[nodiscard]] std::vector<CommCall> calls() const;

  /// A few bytes reduced over all ranks: none goes on before all have come.
  void align(const Rank& rank, const CommBuffers& buffers) const;

 private:
  std::vector<ncclComm_t> comms_;
};

/// "2.28.9".
std::string nccl_version_text();

}  // namespace foretoken::measure
