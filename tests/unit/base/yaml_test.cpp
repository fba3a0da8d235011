#include "sim/base/yaml.hpp"

#include <gmock/gmock.h>

#include "sim/base/json.hpp"

namespace foretoken::yaml_test {
namespace {

using ::testing::HasSubstr;

std::string as_json(const std::string& text) {
  std::string all;
  for (const Value& document : parse_yaml(text, "t.yaml")) all += to_json(document, -1);
  return all;
}

std::string message_of(const std::string& text) {
  try {
    parse_yaml(text, "t.yaml");
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(Yaml, PlainScalarsHaveTypesAndQuotedOnesAreText) {
  EXPECT_EQ(as_json("{a: 4, b: '4', c: 0.5, d: true, e: \"true\", f: inf, g: 1e3, h: v1.2}"),
            R"({"a":4,"b":"4","c":0.5,"d":true,"e":"true","f":"inf","g":1000.0,"h":"v1.2"})");
  EXPECT_EQ(as_json("a: ~\nb: null\nc:\nd: 1"), R"({"d":1})");
}

TEST(Yaml, FollowsAnchorsAndMergeKeys) {
  EXPECT_EQ(as_json("a: &x {p: 1}\nb: {<<: *x, r: 3}\n---\n---\n- 2"),
            R"({"a":{"p":1},"b":{"p":1,"r":3}}[2])");
}

TEST(Yaml, MistakesHaveAPlace) {
  EXPECT_THAT(message_of("a: 1\nb: [1, 2\nc: 3"), HasSubstr("t.yaml:"));
  EXPECT_THAT(message_of("a: 1\nb: [1, 2\nc: 3"), HasSubstr("this is not YAML"));
}

TEST(Yaml, WhatBeginsNoValueIsRefused) {
  // Each of these would be read as an empty document for ever.
  for (const char* text : {",", "\n ,\n", "a: 1\n---\n,", "}"})
    EXPECT_THAT(message_of(text), HasSubstr("this is not YAML")) << text;
  EXPECT_EQ(message_of("---\n---\na: 1\n---\n"), "");
}

TEST(Yaml, ABombOfAliasesIsRefused) {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 10; ++i) {
    bomb += fmt::format("a{0}: &a{0} [*a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}]\n", i,
                        i - 1);
  }
  EXPECT_THAT(message_of(bomb), HasSubstr("values once its aliases"));
}

TEST(Yaml, DepthAndSizeAreBounded) {
  EXPECT_NE(message_of(std::string(400, '[') + std::string(400, ']')), "");
  EXPECT_NE(message_of(std::string(100'000, '[')), "");
  EXPECT_THAT(message_of(std::string(std::size_t{5} << 20U, 'a')), HasSubstr("longer than"));
}

TEST(Yaml, ASelfReferenceEnds) { EXPECT_NE(message_of("&a [*a, *a]"), ""); }

TEST(Yaml, WritesWhatItReads) {
  const Value value = ValueObject{{"text", "4"},
                                  {"yes", true},
                                  {"word", "true"},
                                  {"empty", ""},
                                  {"block", "one\ntwo\n"},
                                  {"odd", "a: b # c"},
                                  {"list", ValueArray{1, 0.5, "x"}},
                                  {"nothing", ValueArray{}},
                                  {"inside", ValueObject{{"k", -3}}}};
  EXPECT_EQ(to_json(parse_yaml(to_yaml(value), "t").at(0)), to_json(value));
}

}  // namespace
}  // namespace foretoken::yaml_test
