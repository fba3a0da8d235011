#include "sim/report/command_text.hpp"

#include "sim/report/terminal_text.hpp"

namespace foretoken {

std::string shell_word(std::string_view word) {
  constexpr std::string_view special = " \t\n\"'{}[]$`\\*?&;|<>()#~!";
  if (!word.empty() && word.find_first_of(special) == std::string_view::npos)
    return std::string(word);
  std::string quoted = "'";
  for (const char letter : word) {
    if (letter == '\'') {
      quoted += "'\\''";
    } else {
      quoted += letter;
    }
  }
  return quoted + "'";
}

std::vector<std::string> set_words(const std::vector<std::string>& assignments) {
  std::vector<std::string> words;
  words.reserve(assignments.size());
  for (const std::string& assignment : assignments)
    words.push_back("--set " + shell_word(assignment));
  return words;
}

std::string command_lines(const std::vector<std::string>& words, int width, int indent) {
  constexpr int backslash = 2;  // with the space before it
  std::string text, line(static_cast<std::size_t>(indent), ' ');
  bool is_empty = true;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const int more = i + 1 < words.size() ? backslash : 0;
    if (!is_empty && display_width(line) + 1 + display_width(words[i]) + more > width) {
      text += line + " \\\n";
      line = std::string(static_cast<std::size_t>(indent) + 2, ' ');
      is_empty = true;
    }
    line += (is_empty ? "" : " ") + words[i];
    is_empty = false;
  }
  return text + line + '\n';
}

}  // namespace foretoken
