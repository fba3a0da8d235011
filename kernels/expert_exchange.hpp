// How the tokens of several attention ranks reach experts on others and come back: one of a few
// ways, which engines choose by what a step holds. Who chooses what is
// kernels/communication/engine_exchange.hpp's, which kernels that makes is workloads', what they
// cost is kernels/communication's.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "hardware/dtype.hpp"
#include "sim/base/enum_names.hpp"

namespace foretoken {

///   all_to_all          each token to the ranks that have its experts, as NCCL's sends
///   all_gather          all tokens to all ranks, padded to as many as the rank with most has; a
///                       reduce-scatter of the partial sums
///   all_reduce          all tokens to all ranks by adding zeros; an all-reduce of the sums
///   deepep_normal       DeepEP's kernels for throughput: a token crosses once to each node
///   deepep_low_latency  DeepEP's kernels that send a token straight to each of its experts
/// DeepEP needs whole experts: as many sets of them as ranks.
enum class ExchangeMethod : std::uint8_t {
  all_to_all,
  all_gather,
  all_reduce,
  deepep_normal,
  deepep_low_latency
};
template <>
struct EnumNames<ExchangeMethod> {
  static constexpr auto names = std::to_array<std::string_view>(
      {"all_to_all", "all_gather", "all_reduce", "deepep_normal", "deepep_low_latency"});
};

struct ExpertExchange {
  ExchangeMethod prompts = ExchangeMethod::all_to_all;  // steps in which some rank has a prompt
  ExchangeMethod decodes = ExchangeMethod::all_to_all;  // all others
  int decode_tokens_max = 0;  // of a rank; steps with more go as those with prompts do; 0: any
  /// Weight formats whose tokens are quantised before they travel, not after.
  std::vector<DType> quantised = {DType::fp8, DType::fp8_block};

  [[nodiscard]] bool takes(ExchangeMethod method) const {
    return prompts == method || decodes == method;
  }
  [[nodiscard]] bool needs_whole_experts() const {
    return takes(ExchangeMethod::deepep_normal) || takes(ExchangeMethod::deepep_low_latency);
  }
  friend bool operator==(const ExpertExchange&, const ExpertExchange&) = default;
};

}  // namespace foretoken
