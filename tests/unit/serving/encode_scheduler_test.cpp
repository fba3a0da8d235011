// Steps of a replica that only encodes images, by hand.

#include "sim/serving/encode_scheduler.hpp"

#include <gmock/gmock.h>

namespace foretoken::encode_scheduler_test {
namespace {

/// 10 tokens of text, and images of 50 behind them.
Sequence with_images(const std::vector<std::uint64_t>& identities) {
  Sequence sequence;
  sequence.prompt_tokens = 10;
  sequence.output_tokens = 1;
  for (const std::uint64_t identity : identities) {
    sequence.media.push_back({MediaItem{identity, sequence.prompt_tokens, {1, 200, 50}}});
    sequence.prompt_tokens += 50;
  }
  return sequence;
}

TEST(EncodeScheduler, TakesRequestsInOrderWhileItsBudgetLasts) {
  EncoderCache images({.step_tokens = 100, .cache_tokens = 400});
  EncodeScheduler scheduler;
  EXPECT_FALSE(scheduler.mind_media(nullptr));
  EXPECT_TRUE(scheduler.mind_media(&images));
  Sequence first = with_images({1}), second = with_images({2, 1, 3}), third = with_images({1});
  for (Sequence* sequence : {&first, &second, &third}) scheduler.enqueue(*sequence);
  Batch batch;
  scheduler.next_batch({}, batch);
  // The second's third image has to wait, and the third request behind it.
  ASSERT_EQ(batch.entries.size(), 2U);
  EXPECT_EQ(batch.media.size(), 2U);
  EXPECT_EQ(batch.shape.tokens, 0);
  EXPECT_TRUE(batch.entries[0].samples);
  EXPECT_FALSE(batch.entries[1].samples);
  EXPECT_EQ(batch.entries[1].context_tokens, 110);
  EXPECT_EQ(scheduler.running(), 2);
  EXPECT_EQ(scheduler.waiting(), 1);
  for (Sequence* sequence : {&first, &second}) --sequence->steps_in_flight;
  scheduler.remove(first);
  batch.clear();
  scheduler.next_batch({}, batch);
  ASSERT_EQ(batch.entries.size(), 2U);
  EXPECT_EQ(batch.media.size(), 1U);  // the first image is still there
  EXPECT_TRUE(batch.entries[0].samples && batch.entries[1].samples);
}

}  // namespace
}  // namespace foretoken::encode_scheduler_test
