// TOML in and out of a Value tree: positions, refusals, and that what is written reads back equal.
#include "sim/base/toml.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "sim/base/embedded_toml.hpp"

namespace foretoken {
namespace {

using testing::ThrowsMessage;

constexpr const char* sample = R"(title = "chat"
[engine]
sequences_max = 256
memory_utilization = 0.9
[workload]
prompt_tokens = { distribution = "lognormal", mean = 1020 }
window = [1, 2.5, "x"]
open = true
)";

const Value& at(const Value& root, std::string_view table, std::string_view key) {
  return *root.find(table)->find(key);
}

TEST(Toml, ReadsEveryType) {
  const Value root = parse_toml(sample, "a.toml");
  EXPECT_EQ(std::get<std::string>(root.find("title")->data), "chat");
  EXPECT_EQ(std::get<std::int64_t>(at(root, "engine", "sequences_max").data), 256);
  EXPECT_EQ(std::get<double>(at(root, "engine", "memory_utilization").data), 0.9);
  EXPECT_EQ(std::get<bool>(at(root, "workload", "open").data), true);
  EXPECT_EQ(std::get<ValueArray>(at(root, "workload", "window").data).size(), 3U);
  EXPECT_EQ(root.find("absent"), nullptr);
}

TEST(Toml, RemembersWhereEachValueStands) {
  const Value root = parse_toml(sample, "a.toml");
  EXPECT_EQ(root.position.text(), "a.toml:1:1");
  EXPECT_EQ(root.find("engine")->position.text(), "a.toml:2:2");
  EXPECT_EQ(at(root, "engine", "memory_utilization").position.text(), "a.toml:4:1");
  EXPECT_EQ(at(root, "workload", "prompt_tokens").find("mean")->position.text(), "a.toml:6:47");
  const auto& window = std::get<ValueArray>(at(root, "workload", "window").data);
  EXPECT_EQ(window[1].position.text(), "a.toml:7:14");
}

TEST(Toml, KeepsTheOrderOfTheFile) {
  const Value root = parse_toml("zebra = 1\nant = 2\n[b]\n[a]\n", "a.toml");
  std::vector<std::string> keys;
  for (const auto& [key, value] : std::get<ValueObject>(root.data)) keys.push_back(key);
  EXPECT_THAT(keys, testing::ElementsAre("zebra", "ant", "b", "a"));
}

TEST(Toml, WritingAndReadingGivesTheSameText) {
  const Value root = parse_toml(sample, "a.toml");
  const std::string written = to_toml(root);
  EXPECT_EQ(written, R"(title = "chat"

[engine]
sequences_max = 256
memory_utilization = 0.9

[workload]
prompt_tokens = { distribution = "lognormal", mean = 1020 }
window = [1, 2.5, "x"]
open = true
)");
  EXPECT_EQ(to_toml(parse_toml(written, "again")), written);
}

TEST(Toml, NumbersKeepTheirBitsAndTheirType) {
  for (const double number : {0.1 + 0.2, 1e22, 1e-300, -0.0, 3.0, 1e16}) {
    Value root;
    root.set("x", number);
    const Value again = parse_toml(to_toml(root), "again");
    ASSERT_TRUE(std::holds_alternative<double>(again.find("x")->data)) << to_toml(root);
    const double back = std::get<double>(again.find("x")->data);
    EXPECT_EQ(std::signbit(back), std::signbit(number));
    EXPECT_EQ(back, number);
  }
}

TEST(Toml, StringsSurviveWhateverTheyHold) {
  for (const char* text : {"a\"b\\c", "tab\tline\n", "\x01\x1f\x7f", "caf\xc3\xa9", ""}) {
    Value root;
    root.set("x", text);
    EXPECT_EQ(std::get<std::string>(parse_toml(to_toml(root), "again").find("x")->data), text);
  }
}

TEST(Toml, KeysAreQuotedWhereTheyMustBe) {
  Value root;
  root.set("a b", 1);
  root.set("a-b_1", 2);
  EXPECT_EQ(to_toml(root), "\"a b\" = 1\na-b_1 = 2\n");
}

TEST(Toml, SyntaxErrorsHaveLineAndColumn) {
  EXPECT_THAT([] { parse_toml("a = 1\nb = \n", "a.toml"); },
              ThrowsMessage<ConfigError>(
                  "a.toml:2:5: Error while parsing key-value pair: expected value, saw '\\n'"));
}

TEST(Toml, DatesAreRefused) {
  EXPECT_THAT([] { parse_toml("day = 2024-01-01", "a.toml"); },
              ThrowsMessage<ConfigError>(
                  "a.toml:1:7: dates and times are not supported here; write a string"));
}

std::string repeated(std::string_view part, int times) {
  std::string text;
  for (int i = 0; i < times; ++i) text += part;
  return text;
}

// 31,000 levels overflowed the stack within toml++, before anything of ours had seen a table.
TEST(Toml, DeepNestingIsRefusedRatherThanOverflowing) {
  const auto refused = [](const std::string& text, int line, int column) {
    EXPECT_THAT(
        [&] { parse_toml(text, "a.toml"); },
        ThrowsMessage<ConfigError>(fmt::format(
            "a.toml:{}:{}: nests deeper than 100 levels; is this the right file?", line, column)))
        << text.substr(0, 40);
  };
  refused(repeated("a.", 200) + "a = 1", 1, 201);
  refused(repeated("a.", 31'000) + "a = 1", 1, 201);
  refused("b = 1\n[" + repeated("a.", 31'000) + "a]\nx = 1", 2, 202);
  refused("[[" + repeated("\"a.b\" . ", 31'000) + "a]]", 1, 802);
  refused("x = { " + repeated("a.", 31'000) + "a = 1 }", 1, 205);
  refused("x = " + repeated("[", 31'000) + "1" + repeated("]", 31'000), 1, 104);
  refused("x = " + repeated("{ a.a.a.a.a = ", 3'000) + "1" + repeated("}", 3'000), 1, 281);
  refused("[" + repeated("t.", 60) + "t]\n" + repeated("a.", 60) + "a = 1", 2, 79);
}

TEST(Toml, DotsAndBracketsInTextsNumbersAndCommentsAreNoLevels) {
  const std::string dots = repeated(".", 300) + repeated("[{", 300);
  const std::string text = "# " + dots + "\na = \"" + dots + "\\\"" + dots + "\"\nb = '" + dots +
                           "'\nc = \"\"\"\n" + dots + "\n\"\" " + dots + "\"\"\"\nd = [" +
                           repeated("1.5, ", 300) + "]\ne = [" + repeated("{ x.y = 1 }, ", 300) +
                           "{ x.y = [2.5] }]\n\"" + dots + "\" = 1\n" +
                           repeated("[[f]]\nx.y.z = 1.5\n", 300);
  EXPECT_EQ(std::get<ValueArray>(parse_toml(text, "a.toml").find("f")->data).size(), 300U);
}

TEST(Toml, AsDeepAsAllowedIsRead) {
  const Value root = parse_toml(repeated("a.", 99) + "a = 1", "a.toml");
  EXPECT_NE(root.find("a"), nullptr);
  EXPECT_NO_THROW(parse_toml("x = " + repeated("[", 99) + repeated("]", 99), "a.toml"));
}

TEST(Toml, ATextBeyondReasonIsRefused) {
  const std::string text(std::size_t{9} << 20, ' ');
  EXPECT_THAT([&] { parse_toml(text, "a.toml"); },
              ThrowsMessage<ConfigError>("a.toml: is longer than 8 MiB; is this the right file?"));
  EXPECT_THAT([] { load_toml("/dev/zero"); },
              ThrowsMessage<ConfigError>("/dev/zero: is longer than 8 MiB; is this the right "
                                         "file?"));
}

TEST(Toml, AFileThatCannotBeReadSaysSo) {
  EXPECT_THAT([] { load_toml("no/such.toml"); },
              ThrowsMessage<ConfigError>("no/such.toml: cannot read this file; check the path"));
  EXPECT_THAT([] { load_toml("/"); },
              ThrowsMessage<ConfigError>("/: cannot read this file; check the path"));
  const std::string too_long(5000, 'a');
  EXPECT_THAT([&] { load_toml(too_long); },
              ThrowsMessage<ConfigError>(too_long + ": cannot read this file; check the path"));
}

TEST(EmbeddedToml, IsParsedOnceForAThread) {
  const EmbeddedFile file{"one", "size = 3\n"}, other{"other", "size = 4\n"};
  const Value& first = parse_embedded(file, "one.toml");
  EXPECT_EQ(to_toml(first), file.text);
  EXPECT_EQ(to_toml(parse_embedded(other, "other.toml")), other.text);
  EXPECT_EQ(&parse_embedded(file, "one.toml"), &first);
  const Value* theirs = nullptr;
  std::thread([&] { theirs = &parse_embedded(file, "one.toml"); }).join();
  EXPECT_NE(theirs, &first);
}

TEST(EmbeddedToml, OfAMistakeEveryReaderIsTold) {
  const EmbeddedFile file{"wrong", "size = \n"};
  for (int i = 0; i < 2; ++i) EXPECT_THROW((void)parse_embedded(file, "wrong.toml"), ConfigError);
}

}  // namespace
}  // namespace foretoken
