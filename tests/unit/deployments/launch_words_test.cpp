#include "sim/deployments/launch_words.hpp"

#include <gmock/gmock.h>

namespace foretoken::launch_words_test {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> words_of_command(const std::string& text, std::size_t command = 0) {
  std::vector<std::string> words;
  const LaunchScript script = read_launch_script(text, "x.sh");
  for (const LaunchWord& word : script.commands.at(command)) words.push_back(word.text);
  return words;
}

TEST(LaunchWords, QuotesContinuedLinesAndComments) {
  EXPECT_THAT(words_of_command("a 'b c' \"d \\\"e\\\"\" \\\n f # g\n"),
              ElementsAre("a", "b c", "d \"e\"", "f"));
  EXPECT_THAT(words_of_command("a \\\r\n  b\r\n"), ElementsAre("a", "b"));
}

TEST(LaunchWords, VariablesOfTheScript) {
  EXPECT_THAT(
      words_of_command("M=one\nexport N='t w'\nrun $M ${N} \"$M-x\" ${O:-three} $P '$M'", 0),
      ElementsAre("run", "one", "t w", "one-x", "three", "$P", "$M"));
  EXPECT_THAT(words_of_command("a $(b c) d"), ElementsAre("a", "$(b c)", "d"));
}

TEST(LaunchWords, CommandsAndRedirections) {
  EXPECT_THAT(words_of_command("a && b 2>&1 > log & c", 1), ElementsAre("b"));
  EXPECT_THAT(words_of_command("a && b 2>&1 > log & c", 2), ElementsAre("c"));
}

TEST(LaunchWords, HereDocumentsAreFiles) {
  const LaunchScript script =
      read_launch_script("cat > o.yaml <<'EOF'\nk: 1\nEOF\ncat <<-E >p\n\tx\n\tE\nrun\n", "x.sh");
  ASSERT_NE(script.file("dir/o.yaml"), nullptr);
  EXPECT_EQ(*script.file("o.yaml"), "k: 1\n");
  ASSERT_NE(script.file("p"), nullptr);
  EXPECT_EQ(*script.file("p"), "x\n");
  EXPECT_EQ(script.commands.back().front().text, "run");
}

TEST(LaunchWords, AnOpenQuoteHasAPlace) {
  try {
    read_launch_script("a\nb 'c", "x.sh");
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(), "x.sh:2: the quote ' that begins here is not closed");
  }
}

}  // namespace
}  // namespace foretoken::launch_words_test
