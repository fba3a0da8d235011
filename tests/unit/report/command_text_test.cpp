// Commands as they stand in a terminal have to be what a shell reads when they are pasted.
#include "sim/report/command_text.hpp"

#include <gmock/gmock.h>

#include <array>
#include <cstdio>
#include <sstream>

#include "sim/report/terminal_text.hpp"

namespace foretoken {
namespace {

/// What a shell makes of a command line: its words, a line each.
std::string words_in_shell(const std::string& command) {
  std::string text = "printf '%s\\n' " + command;
  std::FILE* pipe = popen(text.c_str(), "r");
  std::string words;
  std::array<char, 256> buffer{};
  while (std::fgets(buffer.data(), buffer.size(), pipe) != nullptr) words += buffer.data();
  pclose(pipe);
  return words;
}

TEST(CommandText, QuotesWhatAShellWouldReadMoreInto) {
  EXPECT_EQ(shell_word("deployment.replicas=2"), "deployment.replicas=2");
  EXPECT_EQ(shell_word("workload.rate=4 /s"), "'workload.rate=4 /s'");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_word(""), "''");
}

TEST(CommandText, LongLinesBreakSoThatTheyCanBePasted) {
  std::vector<std::string> words = {"simulate " + shell_word("my chat.toml")};
  for (const std::string& set :
       set_words({"workload.part=[\"1 s\", \"2 s\"]", "cluster.name=h100-sxm-8x2",
                  "deployment.tensor_parallel=4", "a.b='$HOME'", "deployment.replicas=12"}))
    words.push_back(set);
  const std::string text = command_lines(words, 60, 4);
  std::istringstream lines(text);
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) EXPECT_LE(display_width(line), 60);
  EXPECT_GT(count, 2);
  EXPECT_EQ(words_in_shell(text),
            "simulate\nmy chat.toml\n--set\nworkload.part=[\"1 s\", \"2 s\"]\n--set\n"
            "cluster.name=h100-sxm-8x2\n--set\ndeployment.tensor_parallel=4\n--set\n"
            "a.b='$HOME'\n--set\ndeployment.replicas=12\n");
}

}  // namespace
}  // namespace foretoken
