// Images in conversations and requests that are known by their text: where they stand, that later
// turns have them, and mistakes.
#include <gmock/gmock.h>

#include "models/transformer.hpp"
#include "tests/unit/workloads/requests_fixture.hpp"

namespace foretoken::conversation_images_test {
namespace {

class ConversationImages : public TemporaryFolder {
 protected:
  static WorkloadOptions options(const char* model) {
    WorkloadOptions options;
    options.vision = load_model(model, {}).vision;
    return options;
  }
  ReadWorkload played(std::string_view lines, const char* model = "qwen3.5-27b") {
    return read("arrivals = \"interval\"\nrate = \"1 /s\"\nrequests = 2\ntrace = \"" +
                    write("t.jsonl", lines).string() + "\"\n",
                options(model));
  }
};

/// An image of so many pixels, which nobody fetches.
std::string image(int width, int height) {
  return fmt::format(
      R"({{"type":"image_url","image_url":{{"url":"https://a/{0}","width":{0},"height":{1}}}}})",
      width, height);
}

// 1280 x 720 pixels are 880 tokens. A turn of 40 bytes, an image and 8 bytes more; an answer of 20
// bytes; and a turn of text alone, which reads all of it again.
TEST_F(ConversationImages, LaterTurnsHaveThemToo) {
  const auto given = played(
      R"({"id":"a","messages":[{"role":"user","content":[{"type":"text","text":")" +
      std::string(40, 'x') + R"("},)" + image(1280, 720) +
      R"(,{"type":"text","text":"12345678"}]},{"role":"assistant","content":"12345678901234567890"},)"
      R"({"role":"user","content":"12345678"},{"role":"assistant","content":"1"}]})");
  ASSERT_EQ(given.errors, "");
  const auto source = given.workload->start(RandomStreams(1));
  const Request first = *source->next();
  EXPECT_EQ(first.prompt_tokens, 12 + 880);
  ASSERT_EQ(first.media.size(), 1U);
  EXPECT_EQ(first.media[0].first_token, 10);
  EXPECT_EQ(first.media[0].patches, (MediaPatches{1, 3520, 880}));
  source->on_finished(first.id, Seconds(1.0));
  const Request second = *source->next_follow_up();
  EXPECT_EQ(second.prompt_tokens, 12 + 880 + 5 + 2);
  ASSERT_EQ(second.media.size(), 1U);
  EXPECT_EQ(second.media[0].first_token, 10);
  EXPECT_EQ(second.media[0].identity, first.media[0].identity);
}

// Role and line end come before the content, 5 bytes: two tokens, of which the image is behind.
TEST_F(ConversationImages, RequestsOfABatchHaveTheirs) {
  const auto given = played(
      R"({"custom_id":"1","method":"POST","url":"/v1/chat/completions","body":{"max_tokens":7,)"
      R"("messages":[{"role":"user","content":[)" +
      image(640, 480) + "]}]}}\n");
  ASSERT_EQ(given.errors, "");
  const Request request = *given.workload->start(RandomStreams(1))->next();
  ASSERT_EQ(request.media.size(), 1U);
  EXPECT_EQ(request.media[0].first_token, 2);
  EXPECT_EQ(request.prompt_tokens, 2 + 300);
  EXPECT_EQ(request.output_tokens, 7);
}

TEST_F(ConversationImages, MistakesAreTold) {
  const auto with = [](const std::string& part) {
    return R"({"id":"a","messages":[{"role":"user","content":[)" + part +
           R"(]},{"role":"assistant","content":"1"}]})";
  };
  EXPECT_THAT(played(with(image(1280, 720)), "llama-3.1-8b").errors,
              testing::HasSubstr("its requests have images, which the model does not take"));
  EXPECT_THAT(played(with(R"({"type":"image_url","image_url":{"url":"https://a/b"}})")).errors,
              testing::HasSubstr("give its \"width\" and \"height\" in pixels"));
}

}  // namespace
}  // namespace foretoken::conversation_images_test
