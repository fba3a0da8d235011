// All-reduce by plain loads from the peers' memory, as the custom kernels of serving frameworks do
// it for small messages. One shot: every rank reads and adds all inputs. Two shots: every rank adds
// one slice, then all read all slices.
#pragma once

#include <vector>

#include "comm_call.hpp"

namespace foretoken::measure {

inline constexpr int peer_ranks_max = 8;

class PeerAllReduce {
 public:
  /// `buffers` holds one entry a rank, of `bytes_max` each, on the ranks' GPUs, which must have
  /// peer access; at most peer_ranks_max. Throws std::runtime_error if memory is short.
  PeerAllReduce(std::vector<CommBuffers> buffers, std::size_t bytes_max);
  ~PeerAllReduce();
  PeerAllReduce(const PeerAllReduce&) = delete;
  PeerAllReduce& operator=(const PeerAllReduce&) = delete;

  /// one_shot and two_shot, in bf16, up to `bytes_max`. They refer to this object.
  [[nodiscard]] std::vector<CommCall> calls() const;

 private:
  void launch(const Rank& rank, const CommBuffers& buffers, std::size_t bytes, bool one_shot) const;

  std::vector<CommBuffers> buffers_;
  std::size_t bytes_max_;
  std::vector<std::byte*> scratch_;  // reduced slices, a rank
  std::vector<unsigned*> flags_;     // [block][from rank], written by the peers, a rank
  std::vector<unsigned*> turns_;     // [block], how many meetings a block had, a rank
};

}  // namespace foretoken::measure
