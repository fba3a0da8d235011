// The answer's text and its envelopes.
#include "sim/live/completion_text.hpp"

#include <gtest/gtest.h>

#include "sim/base/json.hpp"

namespace foretoken {
namespace {

TEST(AnswerText, CountsUpFourBytesAToken) {
  EXPECT_EQ(answer_text(0, 3), " 000 001 002");
  EXPECT_EQ(answer_text(999, 2), " 999 000");
  EXPECT_EQ(answer_text(5, 0), "");
}

TEST(AnswerText, EndsBeforeAStopStringOnceItIsWhole) {
  const auto at_token = find_stop({" 003"}, 100);
  ASSERT_TRUE(at_token);
  EXPECT_EQ(at_token->tokens, 4);  // the one that completes it is drawn
  EXPECT_EQ(at_token->bytes, 12U);
  const auto inside = find_stop({"nothing", "02 00"}, 100);  // in " 002 003" from byte 10
  ASSERT_TRUE(inside);
  EXPECT_EQ(inside->tokens, 4);
  EXPECT_EQ(inside->bytes, 10U);
  // The earlier of two, whichever is named first.
  EXPECT_EQ(find_stop({" 007", " 002"}, 100)->tokens, 3);
  // Over the place where the numbers begin again.
  EXPECT_EQ(find_stop({" 999 000"}, 5000)->tokens, 1001);
  EXPECT_FALSE(find_stop({" 007"}, 7));
  EXPECT_FALSE(find_stop({"\n\n"}, 100'000));
  EXPECT_FALSE(find_stop({}, 100));
}

TEST(AnswerText, DoesNotEndBeforeTheFewestTokens) {
  // " 003" is whole with the fourth token: looked at from then on, it comes again a thousand later.
  EXPECT_EQ(find_stop({" 003"}, 5000, 3)->tokens, 4);
  const auto again = find_stop({" 003"}, 5000, 4);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->tokens, 1004);
  EXPECT_EQ(again->bytes, 4012U);
  EXPECT_FALSE(find_stop({" 003"}, 1000, 4));
  EXPECT_FALSE(find_stop({" 003"}, 4, 4));
  // One that ends with the first token that is looked at, far behind.
  EXPECT_EQ(find_stop({"98 99"}, 5000, 2999)->tokens, 3000);
  EXPECT_EQ(find_stop({"98 99"}, 5000, 3000)->tokens, 4000);
  EXPECT_EQ(find_stop({" 02", " 01"}, 5000, 15)->tokens, 16);
}

TEST(CompletionEnvelope, IsJson) {
  for (const bool is_chat : {false, true}) {
    const CompletionEnvelope envelope(is_chat, "id-1", "my \"model\"", 1700000000);
    for (const std::string& event :
         {envelope.role_event(0), envelope.text_event(0, " 000", ""),
          envelope.text_event(1, "", "stop"), envelope.usage_event({3, 4})}) {
      ASSERT_TRUE(event.starts_with("data: ") && event.ends_with("\n\n")) << event;
      const Value chunk = parse_json(std::string_view(event).substr(6), {"event"});
      EXPECT_EQ(std::get<std::string>(chunk.find("model")->data), "my \"model\"");
    }
    const Value whole =
        parse_json(envelope.whole({{" 000", "length"}, {"", "stop"}}, {3, 1}), {"whole"});
    const auto& choices = std::get<ValueArray>(whole.find("choices")->data);
    ASSERT_EQ(choices.size(), 2U);
    EXPECT_EQ(std::get<std::int64_t>(choices[1].find("index")->data), 1);
    EXPECT_EQ(std::get<std::int64_t>(whole.find("usage")->find("total_tokens")->data), 4);
  }
}

}  // namespace
}  // namespace foretoken
