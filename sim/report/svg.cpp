#include "sim/report/svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace foretoken {

std::string markup_escaped(std::string_view text) {
  constexpr std::pair<char, std::string_view> escapes[] = {
      {'<', "&lt;"}, {'>', "&gt;"}, {'&', "&amp;"}, {'"', "&quot;"}};
  std::string result;
  for (const char c : text) {
    const auto* escape = std::ranges::find(escapes, c, &std::pair<char, std::string_view>::first);
    result += escape != std::end(escapes) ? escape->second : std::string_view(&c, 1);
  }
  return result;
}

std::string svg_label(double x, double y, std::string_view anchor, const std::string& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor,
                     markup_escaped(text));
}

std::string svg_line(double x1, double y1, double x2, double y2, std::string_view style) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" {}/>\n", x1, y1,
                     x2, y2, style);
}

std::string svg_curve(const std::vector<std::pair<double, double>>& points,
                      std::string_view colour) {
  std::string text;
  for (const auto& [x, y] : points) text += fmt::format("{:.1f},{:.1f} ", x, y);
  if (!text.empty()) text.pop_back();
  return fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>\n",
                     text, colour);
}

std::string svg_picture(double width, double height, const std::string& elements) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
      "width=\"{0:.0f}\" height=\"{1:.0f}\" font-family=\"sans-serif\" font-size=\"13\">\n"
      "<style>.grid{{stroke:#ddd}}.threshold{{stroke:#888;stroke-dasharray:4 3}}</style>\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n{2}</svg>\n",
      width, height, elements);
}

}  // namespace foretoken
