#include "sim/report/page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/base/error.hpp"
#include "sim/base/json.hpp"
#include "sim/report/page_column.hpp"
#include "sim/report/page_files.hpp"
#include "sim/report/svg.hpp"

namespace foretoken {
namespace {

std::string_view file_called(std::span<const EmbeddedFile> files, std::string_view stem) {
  const auto found = std::ranges::find(files, stem, &EmbeddedFile::stem);
  FORETOKEN_CHECK(found != files.end(), "no page file {} in this build", stem);
  return found->text;
}

/// Five significant digits: more than a chart of a thousand pixels shows.
double plotted(double value) {
  if (value == 0 || !std::isfinite(value)) return 0;
  const double unit = std::pow(10.0, std::floor(std::log10(std::abs(value))) - 4);
  return unit >= 1 ? std::round(value / unit) * unit
                   : std::round(value / unit) / std::round(1 / unit);
}

ValueArray plotted_values(const std::vector<double>& values) {
  ValueArray array;
  array.reserve(values.size());
  for (const double value : values) array.emplace_back(plotted(value));
  return array;
}

ValueArray text_values(const std::vector<std::string>& texts) {
  ValueArray array;
  for (const std::string& text : texts) array.emplace_back(text);
  return array;
}

Value axis_value(const PageAxis& axis) {
  return ValueObject{{"label", axis.label}, {"log", axis.log}, {"share", axis.is_share}};
}

const char* kind_name(PageSeries::Kind kind) {
  constexpr const char* names[] = {"line", "steps", "area", "points"};
  return names[static_cast<std::size_t>(kind)];
}

const char* tone_name(PageTile::Tone tone) {
  return tone == PageTile::Tone::good ? "good" : tone == PageTile::Tone::bad ? "bad" : "";
}

/// JSON that may stand in a <script>: "<" occurs only inside strings.
std::string script_json(const Value& value) {
  std::string text;
  for (const char c : to_json(value, -1)) c == '<' ? text += "\\u003c" : text += c;
  return text;
}

}  // namespace

ReportPage::ReportPage(std::string title, std::string kind, std::string version)
    : title_(std::move(title)), kind_(std::move(kind)), version_(std::move(version)) {}

void ReportPage::add(const char* kind, ValueObject part) {
  part.insert(part.begin(), {"kind", kind});
  parts_.emplace_back(std::move(part));
}

void ReportPage::section(std::string name, std::string note) {
  add("section", {{"name", std::move(name)}, {"note", std::move(note)}});
}

void ReportPage::tiles(const std::vector<PageTile>& tiles) {
  ValueArray values;
  for (const PageTile& tile : tiles) {
    values.emplace_back(ValueObject{{"label", tile.label},
                                    {"value", tile.value},
                                    {"unit", tile.unit},
                                    {"note", tile.note},
                                    {"tone", tone_name(tile.tone)}});
  }
  add("tiles", {{"tiles", std::move(values)}});
}

void ReportPage::chart(const PageChart& chart) {
  ValueArray series;
  for (const PageSeries& one : chart.series) {
    if (one.x.empty()) continue;
    ValueObject value = {{"name", one.name},
                         {"kind", kind_name(one.kind)},
                         {"x", plotted_values(one.x)},
                         {"y", plotted_values(one.y)}};
    if (!one.size.empty()) value.emplace_back("size", plotted_values(one.size));
    if (!one.notes.empty()) value.emplace_back("notes", text_values(one.notes));
    if (!one.low.empty()) value.emplace_back("low", plotted_values(one.low));
    if (!one.high.empty()) value.emplace_back("high", plotted_values(one.high));
    series.emplace_back(std::move(value));
  }
  if (series.empty()) return;
  ValueArray marks;
  for (const PageMark& mark : chart.marks) {
    marks.emplace_back(ValueObject{{"x", plotted(mark.x)}, {"label", mark.label}});
  }
  add("chart", {{"title", chart.title},
                {"x", axis_value(chart.x)},
                {"y", axis_value(chart.y)},
                {"series", std::move(series)},
                {"marks", std::move(marks)},
                {"sync", chart.sync}});
}

void ReportPage::bars(const std::string& title, const std::vector<PageBar>& bars, double whole) {
  if (bars.empty() || !(whole > 0)) return;
  ValueArray values;
  for (const PageBar& bar : bars) {
    ValueArray parts;
    for (const auto& [name, amount] : bar.parts) {
      parts.emplace_back(ValueObject{{"name", name}, {"share", plotted(amount / whole)}});
    }
    values.emplace_back(
        ValueObject{{"name", bar.name}, {"value", bar.value}, {"parts", std::move(parts)}});
  }
  add("bars", {{"title", title}, {"bars", std::move(values)}});
}

void ReportPage::gains(const std::string& title, const std::vector<PageGain>& gains) {
  if (gains.empty()) return;
  double longest = 0;
  for (const PageGain& gain : gains) longest = std::max(longest, std::abs(gain.gain));
  ValueArray values;
  for (const PageGain& gain : gains) {
    values.emplace_back(ValueObject{{"name", gain.name},
                                    {"value", gain.value},
                                    {"share", longest > 0 ? plotted(gain.gain / longest) : 0.0}});
  }
  add("gains", {{"title", title}, {"gains", std::move(values)}});
}

void ReportPage::grid(const PageGrid& grid) {
  ValueArray keys, figures;
  for (std::size_t k = 0; k < grid.keys.size(); ++k) {
    const PageGrid::Key& key = grid.keys[k];
    const std::vector<double> places(grid.places[k].begin(), grid.places[k].end());
    keys.emplace_back(
        ValueObject{{"name", key.name},
                    {"unit", key.unit},
                    {"values", text_values(key.values)},
                    {"numbers", plotted_values(key.numbers)},
                    {"places", column_value(PageColumn::of_numbers("", "", 0, places))}});
  }
  for (const PageGrid::Figure& figure : grid.figures) {
    PageColumn column =
        PageColumn::of_numbers(figure.name, figure.unit, figure.decimals, figure.means);
    column.low = figure.low;
    column.high = figure.high;
    figures.emplace_back(ValueObject{{"name", figure.name},
                                     {"unit", figure.unit},
                                     {"more_is_better", figure.more_is_better},
                                     {"means", column_value(column)}});
  }
  add("grid",
      {{"keys", std::move(keys)}, {"crossed", grid.is_crossed}, {"figures", std::move(figures)}});
}

void ReportPage::table(const std::string& name, const std::vector<PageColumn>& columns) {
  ValueArray values;
  for (const PageColumn& column : columns) {
    FORETOKEN_CHECK(column.rows() == columns.front().rows(), "column {} has {} rows, not {}",
                    column.name, column.rows(), columns.front().rows());
    values.push_back(column_value(column));
  }
  const std::size_t rows = columns.empty() ? 0 : columns.front().rows();
  add("table",
      {{"name", name}, {"rows", static_cast<std::int64_t>(rows)}, {"columns", std::move(values)}});
}

void ReportPage::notes(const std::vector<std::string>& notes) {
  if (!notes.empty()) add("notes", {{"notes", text_values(notes)}});
}

void ReportPage::text(const std::string& title, const std::string& text) {
  add("text", {{"title", title}, {"text", text}});
}

void check_page_charts() {
  if (!embedded_uplot().empty()) return;
  throw ConfigError(
      {"--report"},
      "this foretoken was built without uPlot, which draws the charts of HTML reports; install npm "
      "(apt-get install npm), rerun cmake --preset release and rebuild");
}

std::string ReportPage::html() const {
  check_page_charts();
  const std::span<const EmbeddedFile> page = embedded_page(), uplot = embedded_uplot();
  std::string scripts;
  for (const char* name : {"format", "unpack", "chart", "table", "parts", "grid", "start"}) {
    scripts += file_called(page, name);
  }
  const Value data =
      ValueObject{{"title", title_}, {"report", kind_}, {"version", version_}, {"parts", parts_}};
  std::string text = fmt::format(
      R"(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="Foretoken {}">
<title>{} · Foretoken {}</title>
<style>
)",
      markup_escaped(version_), markup_escaped(title_), markup_escaped(kind_));
  text += file_called(uplot, "uPlot.min");
  text += file_called(page, "style");
  text +=
      "</style>\n</head>\n<body>\n<noscript>This report draws its charts and tables with "
      "JavaScript, all of it inside this file.</noscript>\n";
  text += "<script id=\"data\" type=\"application/json\">" + script_json(data) + "</script>\n";
  text += "<script>\n/* uPlot draws the charts:\n";
  text += file_called(uplot, "LICENSE");
  text += "*/\n";
  text += file_called(uplot, "uPlot.iife.min");
  text += "\n</script>\n<script>\n\"use strict\";\n(() => {\n" + scripts + "})();\n</script>\n";
  return text + "</body>\n</html>\n";
}

PageSeries distribution_series(std::string name, std::vector<double> samples,
                               std::size_t points_max) {
  PageSeries series{std::move(name), PageSeries::Kind::steps, {}, {}};
  if (samples.empty()) return series;
  std::ranges::sort(samples);
  const std::size_t count = samples.size();
  const auto add = [&](std::size_t index) {
    const double share = static_cast<double>(index + 1) / static_cast<double>(count);
    if (!series.x.empty() && series.y.back() >= share) return;
    series.x.push_back(samples[index]);
    series.y.push_back(share);
  };
  series.x.push_back(samples.front());
  series.y.push_back(0);
  if (count <= points_max) {
    for (std::size_t i = 0; i < count; ++i) add(i);
    return series;
  }
  // Most of the points evenly, the others over the last hundredth.
  const std::size_t even = points_max * 4 / 5, last = points_max - even;
  const std::size_t tail = count - std::max<std::size_t>(1, count / 100);
  for (std::size_t i = 0; i < even; ++i) add(tail * i / even);
  for (std::size_t i = 1; i <= last; ++i) add(tail + (count - tail) * i / last - 1);
  return series;
}

}  // namespace foretoken
