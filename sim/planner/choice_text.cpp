#include "sim/planner/choice_text.hpp"

#include "sim/report/terminal_text.hpp"

namespace foretoken {

std::string choice_text(const std::vector<LayoutChoice>& axes,
                        const std::vector<std::string>& values) {
  std::string text;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const bool is_hardware = axes[i].key == "gpu" || axes[i].key == "cluster.name";
    text +=
        fmt::format("{}{}{}", i > 0 ? ", " : "", is_hardware ? "" : axes[i].label + " ", values[i]);
  }
  return text;
}

std::string wrapped(const std::string& text, int width, int first, int rest) {
  std::string lines, line(static_cast<std::size_t>(first), ' ');
  bool is_empty = true;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    if (!is_empty && display_width(line) + 1 + display_width(word) > width) {
      lines += line + '\n';
      line = std::string(static_cast<std::size_t>(rest), ' ');
      is_empty = true;
    }
    line += (is_empty ? "" : " ") + word;
    is_empty = false;
    begin = end + 1;
  }
  return lines + line + '\n';
}

}  // namespace foretoken
