#include "sim/app/findings.hpp"

#include <fmt/format.h>

#include "sim/report/terminal_text.hpp"
#include "sim/terminal/terminal.hpp"

namespace foretoken {

int print_findings(const std::string& path, const std::string& name,
                   const std::vector<Finding>& findings) {
  const Ink ink(shows_colour(stdout));
  bool is_wrong = false;
  for (const Finding& finding : findings) {
    const bool is_error = finding.level == Finding::Level::error;
    is_wrong = is_wrong || is_error;
    const std::string level = is_error                                   ? ink.bad("error")
                              : finding.level == Finding::Level::warning ? ink.warning("warning")
                                                                         : ink.quiet("note");
    show("{}: {}: {}: {}\n", path, level, finding.key, finding.message);
  }
  if (findings.empty()) show("{}: {} is complete and plausible\n", path, name);
  return is_wrong ? 1 : 0;
}

}  // namespace foretoken
