// Command lines that a person copies from the terminal and pastes into a shell: words in quotes
// where a shell would read more into them, long lines broken by backslashes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace foretoken {

/// `word` as a POSIX shell has to read it to get it back.
std::string shell_word(std::string_view word);

/// "--set KEY=VALUE" of each of `assignments`, a word for command_lines() each.
std::vector<std::string> set_words(const std::vector<std::string>& assignments);

/// `words`, each as it should stand, in lines of at most `width` columns where words allow; all but
/// the last end in " \", those after the first are indented by two more. Each ends with '\n'.
std::string command_lines(const std::vector<std::string>& words, int width, int indent);

}  // namespace foretoken
