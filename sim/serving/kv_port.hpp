// What replicas that share the work on a request say of its KV cache, so that it gets from the one
// that computes the prompt to the one that goes on (handoff.hpp).
#pragma once

#include "sim/metrics/request_metrics.hpp"

namespace foretoken {

/// Tokens [first, end) of a prompt on one pipeline stage of the replica that computes them.
struct PromptPiece {
  ReplicaId replica;
  RequestId request;
  int stage = 0;
  std::size_t attention_rank = 0;
  std::int64_t first = 0, end = 0;
};

class KvPort {
 public:
  virtual ~KvPort() = default;
  /// A stage begins with a piece, which takes it about `time`.
  virtual void on_piece_started(const PromptPiece& piece, Seconds time) = 0;
  virtual void on_piece_computed(const PromptPiece& piece) = 0;
  /// The replica has taken the blocks of a prompt away that it had begun; it will begin again.
  virtual void on_displaced(RequestId request) = 0;
  /// The first token is drawn. The replica computes no more for the request, but keeps its blocks
  /// until Replica::release().
  virtual void on_prefilled(const RequestRecord& record, std::size_t attention_rank) = 0;
  /// Whether the replica that goes on computes the prompt, too; then nothing is brought there.
  [[nodiscard]] virtual bool is_local(RequestId request) const = 0;
  /// A replica that goes on has taken blocks for the request; `found` tokens of its prompt are
  /// there from others that began alike. The rest is to be brought: Replica::receive().
  virtual void on_reserved(ReplicaId replica, RequestId request, std::size_t attention_rank,
                           std::int64_t found) = 0;
};

}  // namespace foretoken
