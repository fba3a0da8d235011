// How a replica that only encodes images fills a step: requests in order of arrival, as many of
// their images as the encoder's budget and cache allow (encoder_cache.hpp). A request is through
// when its last image is. There are no KV blocks and no tokens of a language model.
#pragma once

#include <deque>

#include "sim/serving/scheduler.hpp"

namespace foretoken {

class EncodeScheduler final : public Scheduler {
 public:
  bool mind_media(EncoderCache* cache) override {
    images_ = cache;
    return cache != nullptr;
  }
  void enqueue(Sequence& sequence) override { waiting_.push_back(&sequence); }
  void join(Sequence& sequence) override;
  [[nodiscard]] std::int64_t tokens_to_join(const Sequence& sequence) const override;
  void next_batch(Seconds now, Batch& batch) override;
  void remove(Sequence& sequence) override;
  [[nodiscard]] std::int64_t waiting() const override;
  [[nodiscard]] std::int64_t waiting_for_blocks() const override { return 0; }
  [[nodiscard]] std::int64_t running() const override;
  /// Nobody joins: what it encodes holds no blocks.
  [[nodiscard]] std::int64_t free_slots() const override { return 0; }

 private:
  EncoderCache* images_ = nullptr;
  std::deque<Sequence*> waiting_;  // those being encoded stay, in front
};

}  // namespace foretoken
