// A request inside an engine: how far it is computed and what it holds. The scheduler owns the
// queues, the replica owns the sequences.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "sim/metrics/request_metrics.hpp"
#include "sim/serving/prefix_cache.hpp"
#include "workloads/requests/request.hpp"

namespace foretoken {

/// An image or audio clip of a prompt. Held: in the encoder cache for this sequence, or being
/// encoded.
struct SequenceItem : MediaItem {
  bool is_held = false;
};

/// Where the next chunk of a prefix is published, while one follows the other: answers publish one
/// every few steps, long after what they belong to has left the CPU's cache.
struct PublishedEnd {
  std::uint64_t next_hash = 0;
  std::uint32_t left = 0;     // chunks from next_hash on whose hashes count up
  std::uint32_t segment = 0;  // of the prefix cache: holds the chunk before, probably
  std::uint32_t added = 0;    // of the sequence's last run, not counted there so far
  std::uint32_t blocks = 0;   // of a chunk
};

/// What every step asks of each of its sequences comes first, in one line of the CPU cache: there
/// are many sequences, and between two of its steps others have passed through.
struct alignas(64) Sequence {
  static constexpr std::int32_t no_chunk = std::numeric_limits<std::int32_t>::max();

  std::int64_t prompt_tokens = 0;
  std::int64_t output_tokens = 0;  // to produce
  std::int64_t produced = 0;
  /// Tokens whose keys and values are in the cache or being computed by a step in flight. It is
  /// advanced when a step is scheduled; preemption sets it back to 0. Drafted tokens in the step
  /// count; those that are rejected are taken off again.
  std::int64_t computed = 0;
  Seconds last_token;
  std::int32_t blocks = 0;  // KV blocks held, shared ones included
  std::int32_t next_chunk_at =
      no_chunk;  // a prefix chunk is published when so many tokens are held
  /// Tokens that the client has from an earlier attempt: they are produced again, not sent again.
  std::int32_t delivered = 0;
  /// Tokens behind the last known one that need KV blocks while it decodes: the drafts, and those
  /// that the draft computes beyond them.
  std::int16_t draft_room = 0;
  std::int16_t drafts = 0;  // drafted tokens that wait to be verified with the next decode
  std::int16_t steps_in_flight = 0;
  bool shows_tokens = true;  // false: another replica sends its client what this one draws
  bool has_ended = true;     // for its client; steps in flight may still work on it
  bool has_begun = false;    // a step has worked on it, and its record says when the first did

  std::int64_t prefix_chunk_tokens = 0;
  PublishedEnd published;
  std::optional<std::uint32_t> adapter;
  bool brings_media = false;  // they come encoded
  std::vector<SequenceItem> media;
  RequestRecord record;

  int priority = 0;  // lower goes first, for schedulers that look at it
  int tenant = 0;    // whose it is, for schedulers that share among tenants
  double tenant_weight = 1.0;
  /// Preempted: free blocks that still hold its beginning (FreeBlocks keeps this up to date).
  std::int64_t left_blocks = 0;

  // Prefix sharing: the prompt's chunks by hash, and those that the KV cache knows this sequence to
  // use (KvCache keeps these up to date).
  PrefixHashes prefix_hashes;  // of whole chunks
  std::vector<PrefixRun> chunks;
  std::int64_t chunk_blocks = 0;  // blocks of these
  std::size_t next_chunk = 0;     // to be published

  /// A store's chunks are read beside steps, not by the one that begins it; so many tokens of them
  /// have come.
  bool is_prefetched = false;
  std::int64_t prefetched_tokens = 0;

  // Swapped out: blocks in the host's memory and the tokens they hold; 0 = none.
  std::int64_t swapped_blocks = 0, swapped_tokens = 0;

  std::size_t attention_rank = 0;  // whose scheduler and KV cache it is in

  /// As one that nobody has used, with the memory of its lists.
  void start_anew() {
    PrefixHashes hashes = std::move(prefix_hashes);
    std::vector<PrefixRun> runs = std::move(chunks);
    hashes.clear();
    runs.clear();
    *this = Sequence();
    prefix_hashes = std::move(hashes);
    chunks = std::move(runs);
  }

  /// Tokens that exist: prompt and what was produced.
  [[nodiscard]] std::int64_t known_tokens() const { return prompt_tokens + produced; }
  /// Tokens still to be computed before the next one can be drawn; 0 = waits for a step in flight.
  [[nodiscard]] std::int64_t missing_tokens() const {
    return std::max<std::int64_t>(known_tokens() - computed, 0);
  }
  /// What a decode computes, at most: the one token that is missing, and the drafts behind it.
  [[nodiscard]] std::int64_t decode_tokens() const { return 1 + drafts; }
  /// Tokens that need KV blocks while `tokens` are held.
  [[nodiscard]] std::int64_t tokens_with_room(std::int64_t tokens) const {
    return tokens >= known_tokens() ? std::max(tokens, known_tokens() + draft_room) : tokens;
  }
  [[nodiscard]] bool is_done() const { return produced >= output_tokens; }
};

static_assert(offsetof(Sequence, prefix_chunk_tokens) <= alignof(Sequence));

}  // namespace foretoken
