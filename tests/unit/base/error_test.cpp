// The three kinds of error: what they say, and that a file's mistakes travel together.
#include "sim/base/error.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace foretoken {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

TEST(SourcePosition, IsShortenedToWhatIsKnown) {
  EXPECT_EQ((SourcePosition{"a.toml", 3, 7}.text()), "a.toml:3:7");
  EXPECT_EQ((SourcePosition{"a.csv", 3, 0}.text()), "a.csv:3");
  EXPECT_EQ((SourcePosition{"--set x=1", 0, 0}.text()), "--set x=1");
}

TEST(ConfigError, SaysPlaceAndMessage) {
  EXPECT_STREQ(ConfigError({"a.toml", 3, 7}, "is wrong").what(), "a.toml:3:7: is wrong");
  EXPECT_STREQ(ConfigError(SourcePosition{}, "is wrong").what(), "is wrong");
}

TEST(ConfigError, SaysAllOfAMessageWithAZeroByte) {
  const ConfigError error({"a.txt", 1}, std::string("'\0x' is no count", 16));
  EXPECT_STREQ(error.what(), "a.txt:1: '?x' is no count");
}

TEST(Diagnostics, NothingAddedThrowsNothing) {
  const Diagnostics diagnostics;
  EXPECT_TRUE(diagnostics.empty());
  EXPECT_NO_THROW(diagnostics.throw_if_any());
}

std::string reported(const Diagnostics& diagnostics) {
  try {
    diagnostics.throw_if_any();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(Diagnostics, ReportsAllMistakesInTheOrderOfTheFile) {
  Diagnostics diagnostics;
  diagnostics.add({"a.toml", 9, 1}, "third");
  diagnostics.add({"a.toml", 2, 7}, "second");
  diagnostics.add({"a.toml", 2, 1}, "first");
  EXPECT_EQ(reported(diagnostics), "a.toml:2:1: first\na.toml:2:7: second\na.toml:9:1: third");
}

TEST(Diagnostics, KeepsFilesInOrderOfDiscovery) {
  Diagnostics diagnostics;
  diagnostics.add({"z.toml", 9, 1}, "one");
  diagnostics.add({"a.toml", 1, 1}, "three");
  diagnostics.add({"z.toml", 2, 1}, "none");
  EXPECT_EQ(reported(diagnostics), "z.toml:2:1: none\nz.toml:9:1: one\na.toml:1:1: three");
}

TEST(Diagnostics, WhatConcernsAWholeFileComesAfterItsLines) {
  Diagnostics diagnostics;
  diagnostics.add({"a.csv"}, "2 malformed lines");
  diagnostics.add({"a.csv", 5}, "not a number");
  EXPECT_EQ(reported(diagnostics), "a.csv:5: not a number\na.csv: 2 malformed lines");
}

TEST(Diagnostics, AttemptKeepsAConfigErrorsMistakes) {
  Diagnostics diagnostics;
  EXPECT_TRUE(diagnostics.attempt([] {}));
  EXPECT_FALSE(diagnostics.attempt([] {
    Diagnostics inner;
    inner.add({"a", 1, 1}, "one");
    inner.add({"a", 2, 1}, "two");
    inner.throw_if_any();
  }));
  diagnostics.add({"a", 3, 1}, "three");
  EXPECT_THAT([&] { diagnostics.throw_if_any(); },
              testing::ThrowsMessage<ConfigError>("a:1:1: one\na:2:1: two\na:3:1: three"));
}

TEST(Diagnostics, AttemptLetsOurBugsThrough) {
  Diagnostics diagnostics;
  EXPECT_THROW(diagnostics.attempt([] { throw InternalError("bug"); }), InternalError);
}

TEST(Check, HoldsSilently) { EXPECT_NO_THROW(FORETOKEN_CHECK(1 + 1 == 2, "arithmetic")); }

TEST(Check, NamesPlaceValuesAndCondition) {
  const int blocks = -1;
  EXPECT_THAT([&] { FORETOKEN_CHECK(blocks >= 0, "{} free blocks", blocks); },
              testing::ThrowsMessage<InternalError>(testing::AllOf(
                  HasSubstr("error_test.cpp:"), EndsWith(": -1 free blocks (blocks >= 0)"))));
}

TEST(Check, AddsTheContextOfTheRun) {
  set_check_context([] { return std::string("seed 7, a.toml, at 1.5 s"); });
  EXPECT_THAT([] { FORETOKEN_CHECK(false, "lost a request"); },
              testing::ThrowsMessage<InternalError>(
                  EndsWith(": lost a request (false)\nseed 7, a.toml, at 1.5 s")));
  set_check_context({});
  EXPECT_THAT([] { FORETOKEN_CHECK(false, "lost a request"); },
              testing::ThrowsMessage<InternalError>(EndsWith(": lost a request (false)")));
}

}  // namespace
}  // namespace foretoken
