// A collective that can be measured: what it is, and how one rank puts one call on its stream.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "rank_threads.hpp"

namespace foretoken::measure {

/// A rank's buffers of one call, `bytes_max` of the run each.
struct CommBuffers {
  std::byte* in = nullptr;
  std::byte* out = nullptr;
};

struct CommCall {
  std::string operation;  // all_reduce …, as `foretoken predict` spells it
  std::string library;    // nccl or foretoken_cuda
  std::string algorithm;  // "auto" where the library chooses
  std::string protocol;   // likewise
  std::size_t bytes_max = ~std::size_t{0};
  /// `bytes` as NCCL's tests count them: the gathered buffer of all_gather and reduce_scatter, what
  /// one rank sends in all in all_to_all, else the buffer. Must be capturable.
  std::function<void(const Rank&, const CommBuffers&, std::size_t bytes)> launch;
};

}  // namespace foretoken::measure
