// What became of one request, as reports hold it: a line of requests.csv.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace foretoken {

struct RequestRow {
  std::uint32_t id = 0, replica = 0;
  double arrival_s = 0;
  std::optional<double> scheduled_s, first_token_s, finished_s;  // nullopt = never happened
  std::int64_t prompt_tokens = 0, output_tokens = 0;
  std::int64_t drafted = 0, accepted = 0;  // tokens verified, and those kept
  std::optional<double> ttft_ms, tpot_ms, e2e_ms;
  int preemptions = 0;
  /// Where another replica computed the prompt: that one, and how the KV cache came from there.
  struct Handoff {
    std::uint32_t prefill_replica = 0;
    double wait_ms = 0, transfer_ms = 0, exposed_ms = 0;  // as Report::KvTransfers'
  };
  std::optional<Handoff> handoff = std::nullopt;
  int attempts = 1;    // replicas it was sent to
  std::string status;  // "completed", "failed", "unfinished", "cancelled", "timed_out", "rejected"
  double ended_s = 0;  // whatever way
  int priority = 0;
  std::string reason;         // of "failed" and "rejected"; "" = none is known
  std::string tenant, model;  // "" = there are none, or one model
  /// The conversation or trajectory it is part of, and the request whose end let it be sent.
  std::optional<std::uint64_t> session = std::nullopt;
  std::optional<std::uint32_t> after = std::nullopt;
};

}  // namespace foretoken
