// What a body asks for, by hand: 4 bytes of text a token, rounded up.
#include "sim/live/completion_request.hpp"

#include <gmock/gmock.h>

namespace foretoken {
namespace {

/// Of a model that makes a token of 28 x 28 pixels.
PromptCut cut(const std::string& model) {
  PromptCut cut{.block_tokens = 16};
  if (model == "text-only") {
    cut.no_images = "text-only is not a multimodal model";
    return cut;
  }
  MediaEncoder& encoder = cut.encoder.emplace();
  encoder.layers = encoder.heads = 1;
  encoder.projector = {4, 4};
  encoder.patch = 14;
  encoder.merge = 2;
  encoder.sizing = MediaSizing::rounded;
  encoder.patches_max = 16'384;
  return cut;
}

CompletionRequest completion(const std::string& body) { return read_completion(body, false, cut); }
CompletionRequest chat(const std::string& body) { return read_completion(body, true, cut); }

std::string why_refused(const std::string& body, bool is_chat = false) {
  try {
    (void)read_completion(body, is_chat, cut);
  } catch (const RequestRefused& why) {
    EXPECT_EQ(why.status(), 400);
    return why.what();
  }
  return "served";
}

TEST(CompletionRequest, TextCountsByBytes) {
  EXPECT_EQ(completion(R"({"prompt": ""})").prompt_tokens, 1);
  EXPECT_EQ(completion(R"({"prompt": "four"})").prompt_tokens, 1);
  EXPECT_EQ(completion(R"({"prompt": "fives"})").prompt_tokens, 2);
  EXPECT_EQ(completion(R"({"prompt": ["fives"]})").prompt_tokens, 2);
  // "user\n" + "Hi" + "\n" are 8 bytes.
  EXPECT_EQ(chat(R"({"messages": [{"role": "user", "content": "Hi"}]})").prompt_tokens, 2);
  EXPECT_EQ(chat(R"({"messages": [{"role": "user",
                      "content": [{"type": "text", "text": "Hi"}]}]})")
                .prompt_tokens,
            2);
}

TEST(CompletionRequest, TokenIdsCountAsTheyAre) {
  EXPECT_EQ(completion(R"({"prompt": [1, 2, 3]})").prompt_tokens, 3);
  EXPECT_EQ(completion(R"({"prompt": [[1, 2, 3]]})").prompt_tokens, 3);
  EXPECT_EQ(completion(R"({"prompt": "long text", "prompt_token_ids": [7]})").prompt_tokens, 1);
}

TEST(CompletionRequest, EqualBeginningsHaveEqualHashesOfWholeBlocks) {
  const auto of = [](const std::string& text) {
    return completion(R"({"prompt": ")" + text + R"("})").prefix_hashes;
  };
  const std::string block(64, 'a');
  EXPECT_EQ(of(block.substr(1)).size(), 0U);
  const auto one = of(block + "b"), two = of(block + std::string(64, 'c'));
  ASSERT_EQ(one.size(), 1U);
  ASSERT_EQ(two.size(), 2U);
  EXPECT_EQ(one[0], two[0]);
  // The same block behind another beginning is another.
  EXPECT_NE(of(std::string(64, 'd') + std::string(64, 'c'))[1], two[1]);
}

TEST(CompletionRequest, ReadsWhatDecidesTheLength) {
  const CompletionRequest asked = completion(
      R"({"prompt": "x", "max_tokens": 7, "min_tokens": 2, "ignore_eos": true, "stop": "end",
          "stream": true, "stream_options": {"include_usage": true}, "priority": -3,
          "temperature": 0.5, "n": 3, "seed": null})");
  EXPECT_EQ(asked.tokens_max, 7);
  EXPECT_EQ(asked.tokens_min, 2);
  EXPECT_TRUE(asked.ignores_eos && asked.streams && asked.wants_usage);
  EXPECT_THAT(asked.stop, testing::ElementsAre("end"));
  EXPECT_EQ(asked.priority, -3);
  EXPECT_EQ(chat(R"({"messages": [{"role": "user"}], "max_completion_tokens": 3,
                     "max_tokens": 9})")
                .tokens_max,
            3);
}

TEST(CompletionRequest, MistakesAreNamed) {
  EXPECT_EQ(why_refused(R"({"prompt": "x", "max_tokens": 0})"),
            "max_tokens: must be an integer from 1 to 100000000");
  EXPECT_EQ(why_refused(R"({"prompt": "x", "max_tokens": 2.5})"),
            "max_tokens: must be an integer from 1 to 100000000");
  EXPECT_EQ(why_refused(R"({"prompt": "x", "min_tokens": 3, "max_tokens": 2})"),
            "min_tokens: must not be greater than max_tokens");
  EXPECT_EQ(why_refused(R"({"prompt": "x", "n": 0})"), "n: must be an integer from 1 to 128");
  EXPECT_EQ(why_refused(R"({"prompt": [1, "a"]})"), "prompt: token 1 is not an integer");
  EXPECT_EQ(why_refused(R"({"prompt": []})"), "prompt: must not be empty");
  EXPECT_EQ(why_refused(R"({"prompt": ["a", "b"]})"),
            "prompt: one request takes one prompt; send several separately");
  EXPECT_EQ(why_refused("{}"), "prompt: is missing; give a string or a list of token ids");
  EXPECT_EQ(why_refused("[]"), "body: must be a JSON object");
  EXPECT_EQ(why_refused("{}", true), "messages: must be a list of messages");
  EXPECT_EQ(why_refused(R"({"messages": [{"content": "x"}]})", true),
            "messages: every message needs a role");
  EXPECT_EQ(
      why_refused(R"({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]})", true),
      "messages: content: image_url: must have a \"url\" that is a string");
  EXPECT_EQ(
      why_refused(R"({"messages": [{"role": "user", "content": [{"type": "audio"}]}]})", true),
      "messages: content: only parts of type text and image_url are supported");
}

/// A user's message of `text`, an image of the size that `told` says, and `rest`.
std::string with_image(const std::string& text, const std::string& told,
                       const std::string& rest = "", const std::string& model = "") {
  return R"({"model": ")" + model + R"(", "messages": [{"role": "user", "content": [
            {"type": "text", "text": ")" +
         text + R"("},
            {"type": "image_url", "image_url": )" +
         told + R"(},
            {"type": "text", "text": ")" +
         rest + R"("}]}]})";
}

constexpr const char* of_280_by_140 = R"({"url": "https://a/b.png", "width": 280, "height": 140})";

// "user\n" and 15 letters are 20 bytes, 5 tokens; 280 x 140 pixels are 10 x 5 tokens; "\n" ends the
// message: 21 bytes, 6 tokens.
TEST(CompletionRequest, ImagesAreTokensWhereTheyStand) {
  const CompletionRequest asked = chat(with_image(std::string(15, 'a'), of_280_by_140));
  EXPECT_EQ(asked.prompt_tokens, 6 + 50);
  ASSERT_EQ(asked.images.size(), 1U);
  EXPECT_EQ(asked.images[0].first_token, 5);
  EXPECT_EQ(asked.images[0].patches, (MediaPatches{1, 200, 50}));
  EXPECT_EQ(asked.image_sizes[0], (PixelSize{280, 140}));
  EXPECT_EQ(asked.prefix_hashes.size(), 3U);  // 56 tokens, blocks of 16
}

TEST(CompletionRequest, PrefixesAreSharedThroughEqualImages) {
  const auto of = [](const std::string& text, const char* image, const std::string& rest) {
    return chat(with_image(text, image, rest)).prefix_hashes;
  };
  const std::string letters(59, 'a');  // with the role 64 bytes: a block
  const auto one = of(letters, of_280_by_140, "b"), two = of(letters, of_280_by_140, "c");
  ASSERT_EQ(one.size(), 4U);  // 16 + 50 + 1 tokens
  EXPECT_EQ(one, two);        // what differs stands behind the last whole block
  const auto other =
      of(letters, R"({"url": "https://a/other.png", "width": 280, "height": 140})", "b");
  EXPECT_EQ(one[0], other[0]);
  EXPECT_NE(one[1], other[1]);
  EXPECT_NE(one, of(std::string(59, 'd'), of_280_by_140, "b"));
  // Text alone before the image is shared with prompts that have none.
  const auto text = chat(R"({"messages": [{"role": "user", "content": ")" + letters + R"("}]})");
  EXPECT_EQ(text.prefix_hashes.at(0), one[0]);
}

TEST(CompletionRequest, WhatIsWrongWithAnImageIsTold) {
  const auto why = [](const std::string& told, const std::string& model = "") {
    return why_refused(with_image("x", told, "", model), true);
  };
  EXPECT_EQ(why(R"({"url": "https://a/b.png"})"),
            "messages: content: image_url: URLs are not fetched; send the image as a data URL "
            "(data:image/png;base64,...), or give its \"width\" and \"height\" in pixels next to "
            "\"url\"");
  EXPECT_EQ(why(R"({"url": "data:image/png;base64,AAAA"})"),
            "messages: content: image_url: this data has no readable image size; send a PNG, JPEG, "
            "WebP or GIF, or give \"width\" and \"height\" next to \"url\"");
  EXPECT_EQ(why(R"({"url": "data:image/png,abc"})"),
            "messages: content: image_url: a data URL must be data:image/TYPE;base64, followed by "
            "base64");
  EXPECT_EQ(why(R"({"url": "https://a", "width": 0, "height": 3})"),
            "messages: content: image_url: width must be an integer from 1 to 100000");
  EXPECT_EQ(why(of_280_by_140, "text-only"), "text-only is not a multimodal model");
  EXPECT_EQ(why(of_280_by_140), "served");
}

}  // namespace
}  // namespace foretoken
