// JSON in and out of a Value tree, including the texts that nlohmann/json itself would throw on.
#include "sim/base/json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace foretoken {
namespace {

using testing::ThrowsMessage;

std::string round_trip(std::string_view text) { return to_json(parse_json(text, {"x.json"}), -1); }

TEST(Json, RoundTripKeepsOrderTypesAndDigits) {
  constexpr std::string_view text =
      R"({"z":1,"a":0.1,"b":1.0,"c":[true,"x\n",-5],"d":{},"e":1e+22})";
  EXPECT_EQ(round_trip(text), text);
}

TEST(Json, DropsNulls) { EXPECT_EQ(round_trip(R"({"a":null,"b":1})"), R"({"b":1})"); }

TEST(Json, TheLastOfEqualKeysWins) { EXPECT_EQ(round_trip(R"({"a":1,"a":2})"), R"({"a":2})"); }

// Python's json module writes them.
TEST(Json, ReadsInfinityAndNaN) {
  const Value value = parse_json(
      R"({"a": Infinity, "b": [-Infinity, NaN, -1], "c": "NaN \" Infinity", "NaN": 2})", {"x"});
  const auto number = [](const Value& of) { return std::get<double>(of.data); };
  EXPECT_EQ(number(*value.find("a")), std::numeric_limits<double>::infinity());
  const auto& list = std::get<ValueArray>(value.find("b")->data);
  EXPECT_EQ(number(list[0]), -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(number(list[1])));
  EXPECT_EQ(std::get<std::int64_t>(list[2].data), -1);
  EXPECT_EQ(std::get<std::string>(value.find("c")->data), "NaN \" Infinity");
  EXPECT_NE(value.find("NaN"), nullptr);
}

TEST(Json, Indents) {
  Value root;
  root.set("a", ValueArray{Value(1), Value(2)});
  EXPECT_EQ(to_json(root), "{\n  \"a\": [\n    1,\n    2\n  ]\n}");
}

TEST(Json, IntegersBeyond64BitBecomeNumbers) {
  EXPECT_TRUE(std::holds_alternative<std::int64_t>(parse_json("9223372036854775807", {"x"}).data));
  EXPECT_EQ(std::get<double>(parse_json("9223372036854775808", {"x"}).data), 0x1p63);
}

TEST(Json, NumbersThatAreNotFiniteBecomeNull) {
  EXPECT_EQ(to_json(Value(std::numeric_limits<double>::infinity())), "null");
}

TEST(Json, BytesThatAreNoUtf8AreReplaced) {
  EXPECT_EQ(to_json(Value("a\xff")), "\"a\xef\xbf\xbd\"");
}

TEST(Json, ASyntaxErrorNamesItsLine) {
  EXPECT_THAT([] { parse_json("{\"a\": 1,\n\"b\" 2}", {"x.json"}); },
              ThrowsMessage<ConfigError>("x.json:2: is not valid JSON (cut off, or a quote, comma "
                                         "or bracket is missing)"));
}

TEST(Json, ALineOfAFileKeepsItsNumber) {
  EXPECT_THAT(
      [] {
        parse_json("{\"a\": ", {"x.jsonl", 17});
      },
      ThrowsMessage<ConfigError>("x.jsonl:17: is not valid JSON (cut off, or a quote, "
                                 "comma or bracket is missing)"));
}

TEST(Json, ANumberTooLargeIsTheUsersMistake) {
  EXPECT_THAT(
      [] {
        parse_json("[1e999]", {"x.json", 1});
      },
      ThrowsMessage<ConfigError>("x.json:1: is not valid JSON (a number is beyond 1.8e308)"));
}

TEST(Json, DeepNestingIsRefusedRatherThanOverflowing) {
  const std::string text = std::string(100000, '[') + std::string(100000, ']');
  EXPECT_THAT(
      [&] {
        parse_json(text, {"x.json", 1});
      },
      ThrowsMessage<ConfigError>("x.json:1: nests deeper than 100 levels; is this the right "
                                 "file?"));
  const std::string in_a_file = "{\"a\": \"[[\",\n\"b\":\n" + text;
  EXPECT_THAT([&] { parse_json(in_a_file, {"x.json"}); },
              ThrowsMessage<ConfigError>("x.json:3: nests deeper than 100 levels; is this the "
                                         "right file?"));
}

std::string object_of(int keys, const char* name) {
  std::string text = "{";
  for (int i = 0; i < keys; ++i) text += fmt::format("{}\"{}{}\":{}", i > 0 ? "," : "", name, i, i);
  return text + "}";
}

// 200,000 keys took minutes when each was looked for among those before it.
TEST(Json, AnObjectOfManyKeysIsReadAndWritten) {
  const std::string text = object_of(200'000, "key");
  EXPECT_EQ(round_trip(text), text);
}

TEST(Json, EqualKeysAmongManyKeepTheFirstPlaceAndTheLastValue) {
  std::string text = object_of(50, "key");
  text.back() = ',';
  text += R"("key7":true,"last":0,"key7":"seven"})";
  const Value root = parse_json(text, {"x.json"});
  const auto& members = std::get<ValueObject>(root.data);
  ASSERT_EQ(members.size(), 51U);
  EXPECT_EQ(members[7].first, "key7");
  EXPECT_EQ(std::get<std::string>(members[7].second.data), "seven");
  EXPECT_EQ(members.back().first, "last");
}

TEST(Json, ATextBeyondReasonIsRefused) {
  const std::string text(std::size_t{33} << 20, ' ');
  EXPECT_THAT([&] { parse_json(text, {"x.json"}); },
              ThrowsMessage<ConfigError>("x.json: is longer than 32 MiB; is this the right file?"));
  EXPECT_THAT([] { load_json("/dev/zero"); },
              ThrowsMessage<ConfigError>("/dev/zero: is longer than 32 MiB; is this the right "
                                         "file?"));
}

TEST(Json, AFileThatCannotBeReadSaysSo) {
  EXPECT_THAT([] { load_json("no/such.json"); },
              ThrowsMessage<ConfigError>("no/such.json: cannot read this file; check the path"));
}

}  // namespace
}  // namespace foretoken
