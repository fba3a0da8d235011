// What a run leaves behind about each request, and the latencies that follow from it.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "sim/base/enum_names.hpp"
#include "sim/base/ids.hpp"
#include "sim/base/quantity.hpp"

namespace foretoken {

enum class RequestStatus { completed, failed, unfinished };
template <>
struct EnumNames<RequestStatus> {
  static constexpr auto names =
      std::to_array<std::string_view>({"completed", "failed", "unfinished"});
};

/// Dates are simulated time; those that did not happen are negative.
struct RequestRecord {
  RequestId id;
  ReplicaId replica;
  Seconds arrival{-1.0};
  Seconds scheduled{-1.0};  // first step that works on it begins
  Seconds first_token{-1.0};
  Seconds finished{-1.0};
  std::int64_t prompt_tokens = 0;
  std::int64_t output_tokens = 0;  // produced
  int preemptions = 0;
  RequestStatus status = RequestStatus::unfinished;

  [[nodiscard]] Seconds ttft() const { return first_token - arrival; }
  /// Mean time between output tokens after the first; 0 for a single token.
  [[nodiscard]] Seconds tpot() const {
    if (output_tokens < 2) return Seconds(0.0);
    return (finished - first_token) / static_cast<double>(output_tokens - 1);
  }
  [[nodiscard]] Seconds end_to_end() const { return finished - arrival; }
};

}  // namespace foretoken
