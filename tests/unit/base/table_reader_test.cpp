// Reading a table into plain members: what is accepted, and the exact words of every refusal.
#include "sim/base/table_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/base/toml.hpp"

namespace foretoken {

enum class Speed { slow, fast };
template <>
struct EnumNames<Speed> {
  static constexpr auto names = std::to_array<std::string_view>({"slow", "fast"});
};

namespace {

// One [engine] table and its reader; `mistakes()` is what a user would be shown.
class TableReaderTest : public testing::Test {
 protected:
  TableReader& engine(std::string_view members) {
    root_ = parse_toml("[engine]\n" + std::string(members), "a.toml");
    return reader_.emplace(*root_.find("engine"), diagnostics_, "engine");
  }
  std::string mistakes() {
    try {
      diagnostics_.throw_if_any();
      return "";
    } catch (const ConfigError& error) {
      return error.what();
    }
  }
  /// The refusal of `x = <text>` when it is read as a T.
  template <class T>
  std::string refusal(std::string_view text) {
    T out{};
    EXPECT_FALSE(engine("x = " + std::string(text)).read("x", out));
    return mistakes();
  }

  Value root_;
  Diagnostics diagnostics_;
  std::optional<TableReader> reader_;
};

TEST_F(TableReaderTest, ReadsEveryType) {
  TableReader& table = engine(R"(yes = true
count = 3
big = 5000000000
size = 7
ratio = 0.5
whole = 2
name = "x"
time = "500 ms"
speed = "fast"
numbers = [1, 2.5]
names = ["a", "b"])");
  bool yes = false;
  int count = 0;
  std::int64_t big = 0;
  std::uint64_t size = 0;
  double ratio = 0, whole = 0;
  std::string name;
  Seconds time;
  Speed speed = Speed::slow;
  std::vector<double> numbers;
  std::vector<std::string> names;
  EXPECT_TRUE(table.read("yes", yes) && table.read("count", count) && table.read("big", big) &&
              table.read("size", size) && table.read("ratio", ratio) &&
              table.read("whole", whole) && table.read("name", name) && table.read("time", time) &&
              table.read("speed", speed) && table.read("numbers", numbers) &&
              table.read("names", names));
  table.finish();
  EXPECT_EQ(mistakes(), "");
  EXPECT_TRUE(yes);
  EXPECT_EQ(count, 3);
  EXPECT_EQ(big, 5000000000);
  EXPECT_EQ(size, 7U);
  EXPECT_EQ(ratio, 0.5);
  EXPECT_EQ(whole, 2.0);  // an integer is a number too
  EXPECT_EQ(name, "x");
  EXPECT_EQ(time, Seconds(0.5));
  EXPECT_EQ(speed, Speed::fast);
  EXPECT_THAT(numbers, testing::ElementsAre(1.0, 2.5));
  EXPECT_THAT(names, testing::ElementsAre("a", "b"));
}

TEST_F(TableReaderTest, AnAbsentKeyKeepsTheDefault) {
  int count = 42;
  EXPECT_FALSE(engine("").read("count", count));
  EXPECT_EQ(count, 42);
  EXPECT_EQ(mistakes(), "");
}

TEST_F(TableReaderTest, ARequiredKeyThatIsAbsent) {
  int count = 0;
  EXPECT_FALSE(engine("").require("count", count));
  EXPECT_EQ(mistakes(), "a.toml:1:2: [engine] lacks 'count'");
}

TEST_F(TableReaderTest, ARequiredKeyAtTheTopLevel) {
  const Value root = parse_toml("", "a.toml");
  TableReader table(root, diagnostics_, "");
  std::string name;
  EXPECT_FALSE(table.require("name", name));
  EXPECT_EQ(mistakes(), "a.toml:1:1: 'name' is missing");
}

TEST_F(TableReaderTest, RefusesWrongTypes) {
  EXPECT_EQ(refusal<bool>("1"), "a.toml:2:1: engine.x: must be true or false, not 1");
}
TEST_F(TableReaderTest, RefusesAnIntegerThatDoesNotFit) {
  EXPECT_EQ(refusal<int>("3000000000"),
            "a.toml:2:1: engine.x: must be an integer up to 2147483647, not 3000000000");
}
TEST_F(TableReaderTest, RefusesANegativeCount) {
  EXPECT_EQ(refusal<std::uint64_t>("-1"),
            "a.toml:2:1: engine.x: must be an integer from 0 to 9223372036854775807, not -1");
}
TEST_F(TableReaderTest, SaysOfANumberBeyond64BitsThatItIs) {
  EXPECT_EQ(refusal<std::uint64_t>("\"18446744073709551616\""),
            "a.toml:2:1: engine.x: must be an integer from 0 to 9223372036854775807, not "
            "18446744073709551616, which is too large");
}
TEST_F(TableReaderTest, RefusesANumberInQuotes) {
  EXPECT_EQ(refusal<std::int64_t>("\"12\""),
            "a.toml:2:1: engine.x: must be an integer, not a string");
}
TEST_F(TableReaderTest, RefusesAFractionForAnInteger) {
  EXPECT_EQ(refusal<std::int64_t>("1.5"), "a.toml:2:1: engine.x: must be an integer, not 1.5");
}
TEST_F(TableReaderTest, SaysHowPerCentAreWritten) {
  EXPECT_EQ(refusal<double>("\"95%\""),
            "a.toml:2:1: engine.x: must be a finite number, not 95%; 0.05 is 5 %");
}
TEST_F(TableReaderTest, RefusesInfinity) {
  EXPECT_EQ(refusal<double>("inf"), "a.toml:2:1: engine.x: must be a finite number, not inf");
}
TEST_F(TableReaderTest, RefusesATableForAString) {
  EXPECT_EQ(refusal<std::string>("{}"), "a.toml:2:1: engine.x: must be a string, not a table");
}
TEST_F(TableReaderTest, RefusesAValueForAnArray) {
  EXPECT_EQ(refusal<std::vector<int>>("\"a\""),
            "a.toml:2:1: engine.x: must be an array of integers, not a string");
}
TEST_F(TableReaderTest, NamesTheElementThatDoesNotFit) {
  EXPECT_EQ(refusal<std::vector<int>>("[1, true]"),
            "a.toml:2:1: engine.x: must be an array of integers, but element 2 is a boolean");
}
TEST_F(TableReaderTest, RefusesABareNumberForAQuantity) {
  EXPECT_EQ(refusal<Seconds>("500"),
            "a.toml:2:1: engine.x: must be a quantity in quotes, for example \"500 ms\", not 500");
}
TEST_F(TableReaderTest, RefusesAQuantityWithoutItsUnit) {
  EXPECT_EQ(refusal<PerSecond>("\"4\""),
            "a.toml:2:1: engine.x: '4' has no unit; write for example \"4 /s\" (/s, /min, /h)");
}
TEST_F(TableReaderTest, RefusesAnUnknownEnumerator) {
  EXPECT_EQ(refusal<Speed>("\"fats\""),
            "a.toml:2:1: engine.x: unknown value 'fats'; did you mean 'fast'? Known: slow, fast");
}

TEST_F(TableReaderTest, ExpectReportsAtTheKey) {
  TableReader& table = engine("count = 0");
  int count = 1;
  table.read("count", count);
  table.expect("count", count > 0, "must be at least 1");
  EXPECT_EQ(mistakes(), "a.toml:2:1: engine.count: must be at least 1");
}

TEST_F(TableReaderTest, ExpectStaysSilentAfterAMistakeAtTheKey) {
  TableReader& table = engine("count = \"x\"");
  int count = 0;
  table.read("count", count);
  table.expect("count", count > 0, "must be at least 1");
  EXPECT_EQ(mistakes(),
            "a.toml:2:1: engine.count: must be an integer up to 2147483647, not a string");
}

TEST_F(TableReaderTest, UnknownKeysNameTheNearest) {
  TableReader& table = engine("sequence_max = 1\ncolour = 2");
  int ignored = 0;
  table.read("sequences_max", ignored);
  table.read("block_tokens", ignored);
  table.finish();
  EXPECT_EQ(mistakes(),
            "a.toml:2:1: unknown key 'sequence_max' in [engine]; did you mean 'sequences_max'?\n"
            "a.toml:3:1: unknown key 'colour' in [engine]. Known: sequences_max, block_tokens");
}

TEST_F(TableReaderTest, AnUnknownTableIsCalledATable) {
  const Value root = parse_toml("[engin]\n", "a.toml");
  TableReader table(root, diagnostics_, "");
  EXPECT_EQ(table.find_table("engine"), nullptr);
  table.finish();
  EXPECT_EQ(mistakes(), "a.toml:1:2: unknown table 'engin'; did you mean 'engine'?");
}

TEST_F(TableReaderTest, AValueWhereATableBelongs) {
  EXPECT_EQ(engine("x = 1").find_table("x"), nullptr);
  EXPECT_EQ(mistakes(), "a.toml:2:1: engine.x: must be a table, not an integer");
}

TEST_F(TableReaderTest, TheRestAreAVariantsOptions) {
  TableReader& table = engine("scheduler = \"fcfs\"\nwindow = 3\ndepth = 4");
  std::string scheduler;
  table.read("scheduler", scheduler);
  const Value rest = table.take_rest();
  table.finish();  // nothing is left to complain about
  EXPECT_EQ(mistakes(), "");
  EXPECT_EQ(to_toml(rest), "window = 3\ndepth = 4\n");
  EXPECT_EQ(rest.position.text(), "a.toml:1:2");
}

TEST_F(TableReaderTest, ATableReaderOnAValueIsOurBug) {
  EXPECT_THROW(TableReader(Value(1), diagnostics_, "engine"), InternalError);
}

}  // namespace
}  // namespace foretoken
