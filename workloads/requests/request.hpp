// A request as the outside world sends it: when it arrives, how much it reads and writes, and what
// it shares with others. What becomes of it is sim/serving's business.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "models/media_encoder.hpp"
#include "sim/base/ids.hpp"
#include "sim/base/quantity.hpp"
#include "workloads/requests/prefix_hashes.hpp"

namespace foretoken {

/// Sets identities of clips apart from those of images.
inline constexpr std::uint64_t clip_identity = std::uint64_t{1} << 63;

/// An image or an audio clip among a prompt's tokens.
struct MediaItem {
  std::uint64_t identity = 0;  // equal ones are the same, and of one size
  std::int64_t first_token = 0;
  MediaPatches patches = {};

  [[nodiscard]] std::int64_t end() const { return first_token + patches.tokens; }
};

struct Request {
  RequestId id;
  Seconds arrival;
  std::int64_t prompt_tokens = 0;
  std::int64_t output_tokens = 0;  // at least 1
  /// Hashes of the prompt's consecutive blocks of `prefix_block_tokens`, each covering everything
  /// before it (the last may be part full); empty = nothing shared.
  PrefixHashes prefix_hashes = {};
  int prefix_block_tokens = 0;
  bool prefix_hashes_cover_output = false;  // they go on over the answer: conversations
  /// Requests of one conversation, user or trajectory; how many it has in all, those beyond the
  /// traffic's limit included, and the one whose end, or dispatch, let this one be sent: the last
  /// of those that it waited for.
  std::optional<std::uint64_t> session = std::nullopt;
  std::int32_t session_requests = 0;
  std::optional<RequestId> after = std::nullopt;
  /// Another choice of the same call, which came before it: a server's front end hands them all to
  /// one engine.
  std::optional<RequestId> beside = std::nullopt;
  int priority = 0;            // lower goes first, for schedulers that look at it (as in vLLM)
  int tenant = 0;              // whose it is (Workload::tenants())
  int model = 0;               // which it asks for (Workload::models())
  double tenant_weight = 1.0;  // that tenant's part among others
  std::optional<std::uint32_t> adapter = std::nullopt;  // (LoRA); nullopt: the base model
  std::vector<MediaItem> media = {};                    // in the order of their tokens
  bool media_encoded = false;  // elsewhere: whoever computes the prompt gets them so
  /// After the arrival, if it has not ended then; negative = never. The client gives up waiting for
  /// the answer, or for its first token, or stops reading.
  Seconds timeout{-1.0}, first_token_timeout{-1.0}, cancel_after{-1.0};
};

/// Requests in order of arrival (follow-ups apart), ids counting from 0 in the order they are
/// given.
class RequestSource {
 public:
  virtual ~RequestSource() = default;

  /// The next request, or nullopt when none is known: for good (open traffic has ended), or until
  /// the next on_finished (closed loop).
  virtual std::optional<Request> next() = 0;

  /// A request was answered at `now`. Closed-loop sources let that user send the next one.
  virtual void on_finished(RequestId id, Seconds now) { (void)id, (void)now; }
  /// A request ended at `now` without a whole answer.
  virtual void on_given_up(RequestId id, Seconds now) { on_finished(id, now); }

  /// What the ends, and the calls of next(), since the last call have led to, request by request
  /// until nullopt: the next turns of their sessions, and users who come back sooner than others
  /// (overtakes()). They arrive at their own dates, whatever next() yields meanwhile.
  virtual std::optional<Request> next_follow_up() { return std::nullopt; }

  /// Whether requests may come that nothing here leads to: live traffic.
  [[nodiscard]] virtual bool stays_open() const { return false; }

  /// Requests it will yield in all if that is known beforehand, for progress bars.
  [[nodiscard]] virtual std::optional<std::int64_t> expected() const { return std::nullopt; }

  /// Lines of a trace that were skipped as malformed (skip_bad_lines).
  [[nodiscard]] virtual std::int64_t skipped_lines() const { return 0; }
};

}  // namespace foretoken
