// Which images an engine has encoded: what its encoder put out is kept until room is needed, those
// that nobody needs any more longest go first. Audio clips are kept among them and by the same
// rules. Sizes are tokens of the language model.
//   in_budget    vLLM V1 (core/sched/scheduler.py, _try_schedule_encoder_inputs;
//                core/encoder_cache_manager.py): a step encodes an image as a whole, before the
//                language model, when it first reaches its tokens, as far as the step's budget and
//                the cache's room last; a prompt does not get past an image for which they do not.
//                An image larger than either limit goes alone. One that comes encoded takes room
//                and no budget.
//   by_request   SGLang (managers/mm_utils.py, _get_chunked_prefill_embedding;
//                mem_cache/multimodal_cache.py): the step with a prompt's first piece encodes all
//                of its images, whatever they are, in the forward pass. What comes out is kept
//                under all of their hashes together, so that only a request with the same ones
//                finds it; later pieces look for it there, and images are encoded again if it is
//                gone, or never had room.
//   for_request  TensorRT-LLM (_torch/models/modeling_multimodal_utils.py,
//                get_multimodal_embeddings): likewise in the first piece, but what comes out stays
//                with the request until its prompt is computed, and others do not find it.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/serving/sequence.hpp"
#include "sim/serving/settings/encoder_settings.hpp"

namespace foretoken {

/// Of one medium.
struct EncodedItems {
  std::int64_t reached = 0;  // items that steps reached; again after a preemption
  std::int64_t found = 0;    // of these, those that were in the cache
  std::int64_t tokens = 0;   // of all of them
  std::int64_t encoded = 0;  // tokens of those that were not
};

struct EncoderTotals {
  std::array<EncodedItems, all_media.size()> by_medium{};

  [[nodiscard]] EncodedItems& of(Medium medium) {
    return by_medium[static_cast<std::size_t>(medium)];
  }
  [[nodiscard]] const EncodedItems& of(Medium medium) const {
    return by_medium[static_cast<std::size_t>(medium)];
  }
  EncoderTotals& operator+=(const EncoderTotals& other);
};

enum class EncoderRule { in_budget, by_request, for_request };

class EncoderCache {
 public:
  explicit EncoderCache(const EncoderSettings& limits) : limits_(limits) {}

  /// Before the first step.
  void follow(EncoderRule rule) { rule_ = rule; }
  /// A step begins, with its budget.
  void begin_step();
  /// How many of the `tokens` of `sequence` behind its first `computed` can be in the step: up to
  /// the first image that cannot be encoded. Keeps the images of these for the sequence, and room
  /// for those that have to be encoded, until encode() or forgo().
  std::int64_t reach(Sequence& sequence, std::int64_t computed, std::int64_t tokens);
  /// The step takes what reach() gave: adds what it encodes to `images`.
  void encode(std::vector<MediaPatches>& images);
  /// It does not.
  void forgo(Sequence& sequence);
  /// Tokens up to `computed` are computed; their images may make room.
  void pass(Sequence& sequence, std::int64_t computed);
  /// The sequence needs none of its images any more, or has to begin again.
  void release(Sequence& sequence);

  /// Tokens of images that some sequence needs, and of all that are kept.
  [[nodiscard]] std::int64_t held() const { return held_; }
  [[nodiscard]] std::int64_t used() const { return used_; }
  [[nodiscard]] const EncoderTotals& totals() const { return totals_; }

 private:
  struct Entry {
    std::uint64_t identity = 0;
    std::int64_t tokens = 0;
    std::int64_t holders = 0;
    std::uint64_t idle_since = 0;
  };
  /// What reach() did for one image.
  struct Taken {
    std::size_t image = 0;  // of the sequence
    bool is_new = false;
  };

  /// reach() for rules that encode all of a request's images at once.
  void reach_all(Sequence& sequence, std::int64_t computed);
  void take_all(Sequence& sequence);
  void keep_all(const Sequence& sequence);
  [[nodiscard]] Entry* find(std::uint64_t identity);
  [[nodiscard]] bool has_room(std::int64_t tokens) const;
  void make_room(std::int64_t tokens);
  void hold(Entry& entry, SequenceItem& image);
  void let_go(SequenceItem& image);
  void erase(std::uint64_t identity);
  void settle();

  EncoderSettings limits_;
  EncoderRule rule_ = EncoderRule::in_budget;
  std::vector<Entry> entries_;  // in order of encoding
  std::int64_t used_ = 0, held_ = 0;
  std::uint64_t releases_ = 0;
  std::int64_t budget_ = 0;
  bool encodes_any_ = false;  // in this step
  std::vector<Taken> taken_;  // by the last reach(), not settled yet
  std::vector<MediaPatches> planned_;
  Sequence* planned_of_ = nullptr;  // all of whose images these are
  EncoderTotals planned_counts_;
  std::int64_t budget_before_ = 0;  // reach()
  bool encoded_before_ = false;
  EncoderTotals totals_;
};

}  // namespace foretoken
