// Text as a terminal shows it: how many columns a string takes, cutting and padding to columns,
// and ANSI colours that can be switched off. A column is a code point; colour escapes take none.
// Wide (East Asian) and combining characters are not told apart: nothing here prints them.
#pragma once

#include <string>
#include <string_view>

namespace foretoken {

enum class Align { left, right };

/// Columns that UTF-8 `text` takes on a terminal.
int display_width(std::string_view text);

/// `text` if it fits `columns`, else its beginning with "…" as the last column. Escapes survive
/// the cut, so that a colour which was switched on is switched off again.
std::string fitted(std::string_view text, int columns);

/// `text` over as many lines of at most `columns` as it takes, broken at spaces; all but the first
/// of a line's parts begin with `indent` spaces. Its own line ends and indents stay; a longer word
/// stays whole.
std::string folded(std::string_view text, int columns, int indent);

/// A shell command of one line in the same way: it goes on, indented by six, after a backslash, and
/// is never broken within quotes.
std::string folded_command(std::string_view command, int columns);

/// `text` filled up with spaces to `columns`; longer text stays as it is.
std::string padded(std::string_view text, int columns, Align align);

/// `count` copies of `text`, for rules and bars.
std::string repeated(std::string_view text, int count);

/// Colours by meaning. Every method returns its argument unchanged when colour is off.
class Ink {
 public:
  explicit Ink(bool colour) : colour_(colour) {}

  [[nodiscard]] std::string strong(std::string_view text) const { return in("1", text); }
  [[nodiscard]] std::string quiet(std::string_view text) const { return in("2", text); }
  [[nodiscard]] std::string good(std::string_view text) const { return in("32", text); }
  [[nodiscard]] std::string bad(std::string_view text) const { return in("31", text); }
  [[nodiscard]] std::string warning(std::string_view text) const { return in("33", text); }
  [[nodiscard]] std::string chart(std::string_view text) const { return in("36", text); }

 private:
  [[nodiscard]] std::string in(std::string_view code, std::string_view text) const;
  bool colour_;
};

}  // namespace foretoken
