// What is recorded of prompts is what traces read.
#include "sim/live/recorded_prompts.hpp"

#include <gtest/gtest.h>

#include "sim/base/json.hpp"
#include "workloads/requests/trace_media.hpp"

namespace foretoken::recorded_prompts_test {
namespace {

TEST(RecordedPrompts, ImagesAreReadAsTheyWere) {
  CompletionRequest asked;
  asked.images = {{7, 12, {1, 400, 100}}, {0x7FFF'FFFF'FFFF'FFFF, 112, {2, 400, 200}}};
  asked.image_sizes = {{320, 300}, {1280, 720}};
  RecordedPrompts recorded;
  recorded.note(RequestId{3}, asked, 16);
  recorded.note(RequestId{4}, CompletionRequest(), 16);
  EXPECT_EQ(recorded.take(RequestId{4}, 16), "");
  const std::string text = recorded.take(RequestId{3}, 16);
  const auto read = trace_media(parse_json("{\"input_toks\":500" + text + "}", {"line", 1}), 500);
  const std::vector<TraceItem> expected = {{7, 12, 100, 320, 300},
                                           {0x7FFF'FFFF'FFFF'FFFF, 112, 200, 1280, 720}};
  EXPECT_EQ(read, expected);
  EXPECT_EQ(recorded.take(RequestId{3}, 16), "");  // forgotten
}

TEST(RecordedPrompts, PrefixesAreNumberedAsTheyCome) {
  RecordedPrompts recorded;
  CompletionRequest asked;
  asked.prefix_hashes = {~std::uint64_t{0}, 7, 9};
  recorded.note(RequestId{0}, asked, 16);
  asked.prefix_hashes = {~std::uint64_t{0}, 8};
  recorded.note(RequestId{1}, asked, 16);
  EXPECT_EQ(recorded.take(RequestId{0}, 16),
            R"(,"prefix_block_tokens":16,"prefix_hashes":[0,1,2])");
  EXPECT_EQ(recorded.take(RequestId{1}, 16), R"(,"prefix_block_tokens":16,"prefix_hashes":[0,3])");
}

// A hash covers all before it, so that every second one stands for blocks twice as large.
TEST(RecordedPrompts, BlocksOfSeveralModelsBecomeTheLeastThatFitsAll) {
  RecordedPrompts recorded;
  CompletionRequest asked;
  asked.prefix_hashes = {11, 12, 13};
  recorded.note(RequestId{0}, asked, 16);
  recorded.note(RequestId{1}, asked, 32);
  recorded.note(RequestId{2}, asked, 16);
  EXPECT_EQ(recorded.take(RequestId{0}, 32), R"(,"prefix_block_tokens":32,"prefix_hashes":[0])");
  EXPECT_EQ(recorded.take(RequestId{1}, 32),
            R"(,"prefix_block_tokens":32,"prefix_hashes":[1,0,2])");
  EXPECT_EQ(recorded.take(RequestId{2}, 0), "");
}

}  // namespace
}  // namespace foretoken::recorded_prompts_test
