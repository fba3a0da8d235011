// What a run leaves behind about each request, and the latencies that follow from it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "sim/base/enum_names.hpp"
#include "sim/base/ids.hpp"
#include "sim/base/quantity.hpp"

namespace foretoken {

/// failed: could not be served, or its replicas failed once too often. unfinished: the run was cut.
/// cancelled and timed_out: its client gave up. rejected: whoever should have queued it was full.
enum class RequestStatus { completed, failed, unfinished, cancelled, timed_out, rejected };
template <>
struct EnumNames<RequestStatus> {
  static constexpr auto names = std::to_array<std::string_view>(
      {"completed", "failed", "unfinished", "cancelled", "timed_out", "rejected"});
};

/// Why a request failed: too long for the context, for the KV cache of a replica alone, or for a
/// step of an engine that does not cut prompts; lost as often as it may be; nobody left to serve
/// it. Why the gateway rejected it: beyond its tenant's limit; its class has no room in the queue,
/// or made room for a more urgent one. none: it has not failed, or a full engine rejected it.
enum class FailureReason {
  none,
  context_length,
  kv_cache,
  step_tokens,
  replica_failures,
  no_replica,
  tenant_limit,
  shed
};
template <>
struct EnumNames<FailureReason> {
  static constexpr auto names =
      std::to_array<std::string_view>({"", "context_length", "kv_cache", "step_tokens",
                                       "replica_failures", "no_replica", "tenant_limit", "shed"});
};

/// How the KV cache of a request got from the replica that computed its prompt to the one that went
/// on. Negative times: it did not.
struct KvHandoff {
  ReplicaId from;          // the replica that computed the prompt
  Seconds wait{-1.0};      // from the first token until blocks were there for it
  Seconds transfer{-1.0};  // from the first byte sent to the last one's arrival
  Seconds exposed{-1.0};   // that part of it in which neither replica could go on
  Bytes bytes;
  int kept = 0;  // times that it was kept for another replica, as the one it was to go to failed
  int recomputed = 0;  // times that the decode replica computed it, as the one it was on failed

  [[nodiscard]] bool has_happened() const { return transfer >= Seconds(0.0); }
};

/// Dates are simulated time; those that did not happen are negative.
struct RequestRecord {
  RequestId id;
  ReplicaId replica;
  Seconds arrival{-1.0};
  Seconds scheduled{-1.0};  // first step that works on it begins
  Seconds first_token{-1.0};
  Seconds last_token{-1.0};
  Seconds finished{-1.0};  // completed; the client has everything
  Seconds ended{-1.0};     // whatever way
  std::int64_t prompt_tokens = 0;
  std::int64_t output_tokens = 0;  // that the client got; what a retry makes again counts once
  std::int64_t output_asked = 0;   // that it would have got
  int preemptions = 0;
  int priority = 0;
  int tenant = 0, model = 0;
  int attempts = 1;                        // replicas that it was sent to, the first one's included
  std::int64_t drafted = 0, accepted = 0;  // tokens that were verified, and those kept
  RequestStatus status = RequestStatus::unfinished;
  FailureReason reason = FailureReason::none;  // of failed and rejected
  KvHandoff handoff;
  /// The conversation or trajectory it is part of, how many requests that has in all, and the one
  /// whose end or dispatch let this one be sent.
  std::optional<std::uint64_t> session = std::nullopt;
  std::int32_t session_requests = 0;
  std::optional<RequestId> after = std::nullopt;

  [[nodiscard]] Seconds ttft() const { return first_token - arrival; }
  /// Mean time between output tokens after the first; 0 for a single token.
  [[nodiscard]] Seconds tpot() const {
    if (output_tokens < 2) return Seconds(0.0);
    return (finished - first_token) / static_cast<double>(output_tokens - 1);
  }
  [[nodiscard]] Seconds end_to_end() const { return finished - arrival; }
};

}  // namespace foretoken
