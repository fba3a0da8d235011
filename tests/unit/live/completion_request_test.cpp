// What a body asks for, by hand: 4 bytes of text a token, rounded up.
#include "sim/live/completion_request.hpp"

#include <gmock/gmock.h>

namespace foretoken {
namespace {

CompletionRequest completion(const std::string& body) { return read_completion(body, false, 16); }
CompletionRequest chat(const std::string& body) { return read_completion(body, true, 16); }

std::string why_refused(const std::string& body, bool is_chat = false) {
  try {
    (void)read_completion(body, is_chat, 16);
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
          "temperature": 0.5, "n": 1, "seed": null})");
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
  EXPECT_EQ(why_refused(R"({"prompt": "x", "n": 2})"), "n: must be an integer from 1 to 1");
  EXPECT_EQ(why_refused(R"({"prompt": [1, "a"]})"), "prompt: token 1 is no integer");
  EXPECT_EQ(why_refused(R"({"prompt": []})"), "prompt: holds no tokens");
  EXPECT_EQ(why_refused(R"({"prompt": ["a", "b"]})"),
            "prompt: several prompts in one request are not served; send one each");
  EXPECT_EQ(why_refused("{}"), "prompt: is missing; give a string or a list of token ids");
  EXPECT_EQ(why_refused("[]"), "body: must be a JSON object");
  EXPECT_EQ(why_refused("{}", true), "messages: must be a list of messages");
  EXPECT_EQ(why_refused(R"({"messages": [{"content": "x"}]})", true),
            "messages: every message needs a role");
  EXPECT_EQ(
      why_refused(R"({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]})", true),
      "messages: content: only parts of type text are served");
}

}  // namespace
}  // namespace foretoken
