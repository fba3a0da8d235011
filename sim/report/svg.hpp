// The few elements that pictures here are made of: plain SVG, nothing to load.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace foretoken {

/// Okabe and Ito's colours, told apart by most colour-blind readers.
constexpr auto svg_colours = std::to_array<std::string_view>(
    {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"});

/// `text` between the tags, or in an attribute, of SVG or HTML.
std::string markup_escaped(std::string_view text);
/// Text at (x, y); `anchor` is start, middle or end. What XML reserves is escaped.
std::string svg_label(double x, double y, std::string_view anchor, const std::string& text);
/// A line with attributes `style`.
std::string svg_line(double x1, double y1, double x2, double y2, std::string_view style);
/// An open curve through `points`.
std::string svg_curve(const std::vector<std::pair<double, double>>& points,
                      std::string_view colour);
/// The element around all others, on white.
std::string svg_picture(double width, double height, const std::string& elements);

}  // namespace foretoken
