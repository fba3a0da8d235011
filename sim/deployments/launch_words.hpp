// A shell's words, as far as launch scripts need them: quotes, continued lines, comments, variables
// that the script itself sets, and files written by `cat > FILE <<EOF`. Nothing is run: what only a
// shell could know ($(…), variables from outside) stays as it is written.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/error.hpp"

namespace foretoken {

struct LaunchWord {
  std::string text;
  SourcePosition position;
};
using LaunchCommand = std::vector<LaunchWord>;
/// Names and values.
using LaunchVariables = std::vector<std::pair<std::string, std::string>>;

struct LaunchScript {
  std::vector<LaunchCommand> commands;        // as ; & | and line ends part them
  std::vector<LaunchVariables> environments;  // of each command: exported before it, or its own
  std::vector<std::pair<std::string, std::string>> files;  // written by here-documents

  [[nodiscard]] const std::string* file(std::string_view name) const;
};

/// Throws ConfigError for a quote that is not closed, and for more words than any launch has.
LaunchScript read_launch_script(std::string_view text, const std::string& source);

}  // namespace foretoken
