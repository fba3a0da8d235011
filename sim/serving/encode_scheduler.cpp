#include "sim/serving/encode_scheduler.hpp"

#include <algorithm>

namespace foretoken {
namespace {

bool is_being_encoded(const Sequence* sequence) { return sequence->steps_in_flight > 0; }

}  // namespace

void EncodeScheduler::join(Sequence& sequence) {
  FORETOKEN_CHECK(false, "request {} joins a replica that encodes", sequence.record.id.value);
}

std::int64_t EncodeScheduler::tokens_to_join(const Sequence& sequence) const {
  return sequence.prompt_tokens;
}

/// Text between images costs nothing: a sequence gets as far as its next image that must wait.
void EncodeScheduler::next_batch(Seconds /*now*/, Batch& batch) {
  images_->begin_step();
  for (Sequence* sequence : waiting_) {
    if (is_being_encoded(sequence)) continue;
    const std::int64_t missing = sequence->prompt_tokens - sequence->computed;
    const std::int64_t tokens = images_->reach(*sequence, sequence->computed, missing);
    if (tokens == 0) return;
    images_->encode(batch.media);
    batch.note_start(*sequence);
    sequence->computed += tokens;
    ++sequence->steps_in_flight;
    batch.entries.push_back({sequence, tokens, sequence->computed, tokens == missing, 0});
    if (tokens < missing) return;
  }
}

void EncodeScheduler::remove(Sequence& sequence) {
  images_->release(sequence);
  std::erase(waiting_, &sequence);
}

std::int64_t EncodeScheduler::waiting() const { return std::ssize(waiting_) - running(); }

std::int64_t EncodeScheduler::running() const {
  return std::ranges::count_if(waiting_, is_being_encoded);
}

}  // namespace foretoken
