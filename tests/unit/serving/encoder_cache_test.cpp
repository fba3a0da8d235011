// Which images are encoded when, step by step and by hand.

#include "sim/serving/encoder_cache.hpp"

#include <gmock/gmock.h>

#include "tests/unit/serving/engine_fixture.hpp"

namespace foretoken::encoder_cache_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// A prompt of `text` tokens and images of `tokens` each behind them.
Sequence with_images(std::int64_t text, const std::vector<std::uint64_t>& identities,
                     std::int64_t tokens) {
  Sequence sequence;
  sequence.prompt_tokens = text;
  sequence.output_tokens = 1;
  for (const std::uint64_t identity : identities) {
    const MediaItem image{identity, sequence.prompt_tokens, {1, 4 * tokens, tokens}};
    sequence.media.push_back({image});
    sequence.prompt_tokens = image.end();
  }
  return sequence;
}

std::int64_t encode(EncoderCache& cache) {
  std::vector<MediaPatches> images;
  cache.encode(images);
  return std::ssize(images);
}

// 100 of text, then images at 100 to 150, 150 to 200, 200 to 250; a step encodes 100, the cache
// holds 100.
TEST(EncoderCache, APromptGoesAsFarAsItsImagesAreEncoded) {
  EncoderCache cache({.step_tokens = 100, .cache_tokens = 100});
  Sequence sequence = with_images(100, {1, 2, 3}, 50);
  cache.begin_step();
  EXPECT_EQ(cache.reach(sequence, 0, 80), 80);  // text alone
  EXPECT_EQ(encode(cache), 0);
  cache.begin_step();
  EXPECT_EQ(cache.reach(sequence, 80, 170), 120);  // up to the third
  EXPECT_EQ(encode(cache), 2);
  EXPECT_EQ(cache.held(), 100);
  cache.begin_step();
  EXPECT_EQ(cache.reach(sequence, 200, 50), 0);  // the room is taken until the step is over
  cache.pass(sequence, 200);
  EXPECT_EQ(cache.held(), 0);
  EXPECT_EQ(cache.used(), 100);  // kept while nobody needs the room
  EXPECT_EQ(cache.reach(sequence, 200, 50), 50);
  EXPECT_EQ(encode(cache), 1);
  EXPECT_EQ(cache.used(), 100);
  EXPECT_EQ(cache.totals().of(Medium::image).reached, 3);
  EXPECT_EQ(cache.totals().of(Medium::image).encoded, 150);
}

TEST(EncoderCache, EqualImagesAreEncodedOnce) {
  EncoderCache cache({.step_tokens = 1000, .cache_tokens = 1000});
  Sequence first = with_images(10, {7, 7}, 50), second = with_images(20, {7}, 50);
  cache.begin_step();
  EXPECT_EQ(cache.reach(first, 0, 110), 110);
  EXPECT_EQ(encode(cache), 1);
  EXPECT_EQ(cache.reach(second, 0, 70), 70);
  EXPECT_EQ(encode(cache), 0);
  cache.release(first);
  EXPECT_EQ(cache.held(), 50);  // the second still needs it
  cache.release(second);
  EXPECT_EQ(cache.held(), 0);
  EXPECT_EQ(cache.totals().of(Medium::image).reached, 3);
  EXPECT_EQ(cache.totals().of(Medium::image).found, 2);
}

TEST(EncoderCache, TheOneLongestIdleMakesRoom) {
  EncoderCache cache({.step_tokens = 1000, .cache_tokens = 100});
  Sequence a = with_images(0, {1}, 50), b = with_images(0, {2}, 50), c = with_images(0, {3}, 50);
  for (Sequence* sequence : {&a, &b}) {
    cache.begin_step();
    cache.reach(*sequence, 0, 50);
    encode(cache);
  }
  cache.pass(b, 50);
  cache.pass(a, 50);
  cache.begin_step();
  EXPECT_EQ(cache.reach(c, 0, 50), 50);
  EXPECT_EQ(encode(cache), 1);
  Sequence again_a = with_images(0, {1}, 50), again_b = with_images(0, {2}, 50);
  EXPECT_EQ(cache.reach(again_a, 0, 50), 50);
  EXPECT_EQ(encode(cache), 0);
  EXPECT_EQ(cache.reach(again_b, 0, 50), 0);  // gone, and both others are needed
}

TEST(EncoderCache, AnImageBeyondTheLimitsGoesAlone) {
  EncoderCache cache({.step_tokens = 100, .cache_tokens = 100});
  Sequence large = with_images(0, {1}, 300), small = with_images(0, {2}, 10);
  cache.begin_step();
  EXPECT_EQ(cache.reach(small, 0, 10), 10);
  encode(cache);
  EXPECT_EQ(cache.reach(large, 0, 300), 0);
  cache.pass(small, 10);
  EXPECT_EQ(cache.reach(large, 0, 300), 0);  // this step has encoded something
  cache.begin_step();
  EXPECT_EQ(cache.reach(large, 0, 300), 300);
  EXPECT_EQ(encode(cache), 1);
  EXPECT_EQ(cache.reach(small, 10, 1), 1);  // passed: nothing of it is needed
}

TEST(EncoderCache, WhatIsForgoneWasNeverThere) {
  EncoderCache cache({.step_tokens = 100, .cache_tokens = 100});
  Sequence a = with_images(0, {1, 1, 2}, 50), b = with_images(0, {3, 4}, 50);
  cache.begin_step();
  EXPECT_EQ(cache.reach(a, 0, 150), 150);
  cache.forgo(a);
  EXPECT_EQ(cache.held(), 0);
  EXPECT_EQ(cache.used(), 0);
  EXPECT_EQ(cache.reach(b, 0, 100), 100);  // budget and room are whole again
  EXPECT_EQ(encode(cache), 2);
  EXPECT_EQ(cache.totals().of(Medium::image).reached, 2);
}

class ImageSteps : public testing::Test {
 protected:
  ImageSteps() { EXPECT_TRUE(engine.scheduler->mind_media(&images)); }

  std::vector<std::int64_t> step() {
    batch = engine.next();
    std::vector<std::int64_t> tokens;
    for (const BatchEntry& entry : batch.entries) {
      tokens.push_back(entry.new_tokens);
      images.pass(*entry.sequence, entry.context_tokens);
    }
    engine.complete(batch);
    return tokens;
  }

  EncoderCache images{EncoderSettings{.step_tokens = 100, .cache_tokens = 100}};
  EngineFixture engine{100, 16, {.batch_tokens_max = 200, .sequences_max = 4}};
  Batch batch;
};

// The first takes the step's whole encoder budget; the second stops before its image.
TEST_F(ImageSteps, SchedulersStopBeforeAnImageThatMustWait) {
  engine.submit(with_images(20, {1, 2}, 50));
  engine.submit(with_images(30, {3}, 40));
  EXPECT_THAT(step(), ElementsAre(120, 30));
  EXPECT_EQ(batch.media.size(), 2U);
  EXPECT_THAT(step(), ElementsAre(40));
  EXPECT_EQ(batch.media.size(), 1U);
}

TEST_F(ImageSteps, PromptsOfTextAreAsBefore) {
  engine.submit(150, 2);
  engine.submit(100, 2);
  EXPECT_THAT(step(), ElementsAre(150, 50));
  EXPECT_THAT(batch.media, IsEmpty());
}

TEST_F(ImageSteps, OneThatIsGivenUpFreesItsImages) {
  Sequence& first = engine.submit(with_images(0, {1, 2}, 50));
  Sequence& second = engine.submit(with_images(0, {3}, 50));
  batch = engine.next();
  EXPECT_EQ(batch.entries.size(), 1U);
  EXPECT_EQ(images.held(), 100);
  engine.give_up(first);
  EXPECT_EQ(images.held(), 0);
  EXPECT_THAT(step(), ElementsAre(50));
  EXPECT_EQ(batch.entries.front().sequence, &second);
}

TEST(ImageSchedulers, ThatCannotCutPromptsSayNo) {
  EncoderCache images({.step_tokens = 100, .cache_tokens = 100});
  for (const char* name : {"orca", "static"}) {
    EngineFixture engine(100, 16, {.batch_tokens_max = 100, .sequences_max = 4}, "", name);
    EXPECT_FALSE(engine.scheduler->mind_media(&images)) << name;
    EXPECT_TRUE(engine.scheduler->mind_media(nullptr)) << name;
  }
  for (const char* name : {"sglang", "tensorrt_llm"}) {
    EngineFixture engine(100, 16, {.batch_tokens_max = 100, .sequences_max = 4}, "", name);
    EXPECT_TRUE(engine.scheduler->mind_media(&images)) << name;
  }
  EngineFixture whole(100, 16, {}, "chunked_prefill = false");
  EXPECT_FALSE(whole.scheduler->mind_media(&images));
}

// SGLang: images at 10 to 60 and 60 to 110, whatever the budget; the prompt's pieces find them
// while they are kept, and so does a request with the same two, not one with the first alone.
TEST(EncoderCache, RequestsFindAllOfTheirImagesTogether) {
  EncoderCache cache({.step_tokens = 1, .cache_tokens = 150});
  cache.follow(EncoderRule::by_request);
  Sequence first = with_images(10, {1, 2}, 50), same = with_images(90, {1, 2}, 50);
  Sequence one = with_images(0, {1}, 50);
  EXPECT_EQ(cache.reach(first, 0, 5), 5);  // the first piece has none of an image's tokens
  EXPECT_EQ(encode(cache), 2);
  EXPECT_EQ(cache.reach(first, 5, 105), 105);
  EXPECT_EQ(encode(cache), 0);
  EXPECT_EQ(cache.reach(same, 0, 190), 190);
  EXPECT_EQ(encode(cache), 0);
  EXPECT_EQ(cache.reach(one, 0, 50), 50);
  EXPECT_EQ(encode(cache), 1);
  EXPECT_EQ(cache.used(), 150);
  EXPECT_EQ(cache.totals().of(Medium::image).reached, 5);
  EXPECT_EQ(cache.totals().of(Medium::image).found, 2);
  EXPECT_EQ(cache.totals().of(Medium::image).encoded, 150);
  EXPECT_EQ(cache.reach(first, 110, 1), 1);  // behind its images
  EXPECT_EQ(encode(cache), 0);
}

TEST(EncoderCache, WhatHasNoRoomIsEncodedAgainForEachPiece) {
  EncoderCache cache({.step_tokens = 1, .cache_tokens = 60});
  cache.follow(EncoderRule::by_request);
  Sequence large = with_images(10, {1, 2}, 50);
  for (const std::int64_t computed : {0, 20, 40}) {
    EXPECT_EQ(cache.reach(large, computed, 20), 20);
    EXPECT_EQ(encode(cache), 2) << computed;
  }
  EXPECT_EQ(cache.used(), 0);
  Sequence a = with_images(0, {3}, 50), b = with_images(0, {4}, 50);
  cache.reach(a, 0, 10);
  EXPECT_EQ(encode(cache), 1);
  cache.reach(b, 0, 50);
  EXPECT_EQ(encode(cache), 1);  // takes its place
  cache.reach(a, 10, 40);
  EXPECT_EQ(encode(cache), 1);
  EXPECT_EQ(cache.used(), 50);
}

// TensorRT-LLM: kept for the request alone, until its prompt is computed.
TEST(EncoderCache, RequestsKeepTheirOwn) {
  EncoderCache cache({.step_tokens = 1, .cache_tokens = 1});
  cache.follow(EncoderRule::for_request);
  Sequence first = with_images(10, {1, 2}, 50), same = with_images(10, {1, 2}, 50);
  EXPECT_EQ(cache.reach(first, 0, 30), 30);
  EXPECT_EQ(encode(cache), 2);
  cache.pass(first, 100);
  EXPECT_EQ(cache.held(), 100);
  EXPECT_EQ(cache.reach(first, 30, 80), 80);
  EXPECT_EQ(encode(cache), 0);
  EXPECT_EQ(cache.reach(same, 0, 110), 110);
  EXPECT_EQ(encode(cache), 2);
  cache.pass(first, 110);
  EXPECT_EQ(cache.held(), 100);
  cache.release(same);
  EXPECT_EQ(cache.held(), 0);
  EXPECT_EQ(cache.used(), 0);
  EXPECT_EQ(cache.totals().of(Medium::image).found, 0);
}

TEST(EncoderCache, WhatARequestForgoesIsNotThere) {
  for (const EncoderRule rule : {EncoderRule::by_request, EncoderRule::for_request}) {
    EncoderCache cache({.step_tokens = 1, .cache_tokens = 100});
    cache.follow(rule);
    Sequence sequence = with_images(0, {1}, 50);
    cache.reach(sequence, 0, 50);
    cache.forgo(sequence);
    EXPECT_EQ(encode(cache), 0);
    EXPECT_EQ(cache.reach(sequence, 0, 50), 50);
    EXPECT_EQ(encode(cache), 1);
    EXPECT_EQ(cache.totals().of(Medium::image).reached, 1);
  }
}

}  // namespace
}  // namespace foretoken::encoder_cache_test
