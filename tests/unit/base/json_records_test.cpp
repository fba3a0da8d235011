// Records within JSON texts: found by their path, one at a time, with their lines; what is skipped
// is not there, and mistakes are told where they are.
#include "sim/base/json_records.hpp"

#include <gmock/gmock.h>

#include "sim/base/json.hpp"

namespace foretoken::json_records_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> found(std::string_view text, const JsonRecords& records) {
  std::vector<std::string> out;
  each_json_record(text, "f.json", records, [&](const Value& record) {
    out.push_back(fmt::format("{}: {}", record.position.line, to_json(record, -1)));
  });
  return out;
}

TEST(JsonRecords, AreWholeDocumentsOneAfterTheOther) {
  EXPECT_THAT(found("{\"a\": 1}\n{\"a\": [2,\n 3]}\n[4]", {}),
              ElementsAre("1: {\"a\":1}", "2: {\"a\":[2,3]}", "4: [4]"));
}

TEST(JsonRecords, AreFoundByTheirPath) {
  const std::string text =
      "{\"x\": {\"runs\": [1]},\n\"runs\": [{\"ok\": [\n{\"n\": 1}, 7], \"bad\": [2]},\n"
      "{\"ok\": []}, 3, {\"ok\": {\"n\": 4}}]}";
  EXPECT_THAT(found(text, {.path = {"runs", "*", "ok", "*"}}), ElementsAre("3: {\"n\":1}", "3: 7"));
  EXPECT_THAT(found(text, {.path = {"nothing", "*"}}), IsEmpty());
}

TEST(JsonRecords, PassOverALeadingStarWithoutAnArray) {
  const JsonRecords each{.path = {"*"}};
  EXPECT_THAT(found("[{\"a\":1},{\"a\":2}]", each), ElementsAre("1: {\"a\":1}", "1: {\"a\":2}"));
  EXPECT_THAT(found("{\"a\":1}\n{\"a\":2}", each), ElementsAre("1: {\"a\":1}", "2: {\"a\":2}"));
}

TEST(JsonRecords, LeaveOutWhatIsSkipped) {
  EXPECT_THAT(
      found("{\"a\":1,\"text\":{\"a\":[1,{\"b\":2}]},\"c\":{\"text\":\"t\",\"d\":null,\"e\":3}}",
            {.skipped = {"text"}}),
      ElementsAre("1: {\"a\":1,\"c\":{\"e\":3}}"));
}

std::string mistake(std::string_view text) {
  try {
    found(text, {.path = {"*"}});
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

TEST(JsonRecords, SayWhereATextIsNoJson) {
  EXPECT_EQ(mistake("[{\"a\": 1},\n{\"a\": "),
            "f.json:2: is not valid JSON (cut off, or a quote, comma or bracket is missing)");
  EXPECT_EQ(mistake("{\"a\": 1}\n\ngarbage"),
            "f.json:3: is not valid JSON (cut off, or a quote, comma or bracket is missing)");
  EXPECT_THAT(mistake(std::string(100'000, '[')), ::testing::StartsWith("f.json:1: "));
}

TEST(JsonRecords, KnowPythonsNumbers) {
  EXPECT_THAT(found("{\"a\": Infinity, \"b\": \"NaN\"}", {}),
              ElementsAre("1: {\"a\":null,\"b\":\"NaN\"}"));  // as to_json writes infinity
}

}  // namespace
}  // namespace foretoken::json_records_test
