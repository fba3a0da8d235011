#include "workloads/requests/metric_series.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "sim/base/json_records.hpp"
#include "workloads/requests/text_lines.hpp"
#include "workloads/requests/trace_fields.hpp"
#include "workloads/requests/trace_format.hpp"

namespace foretoken {
namespace {

using Labels = std::map<std::string, std::string>;

constexpr std::size_t answer_bytes_max = std::size_t{1} << 28;
constexpr std::size_t series_most = 1'000'000;

double metric_value(std::string_view text, std::string_view what) {
  double value = 0;
  if (text.starts_with('+')) text.remove_prefix(1);
  if (text == "Inf") return std::numeric_limits<double>::infinity();
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc() || end != text.data() + text.size())
    throw BadLine(fmt::format("{} must be a number, found '{}'", what, text.substr(0, 60)));
  return value;
}

/// Of all files, found by name and labels.
class SeriesTable {
 public:
  void add(const std::string& name, const Labels& labels, MetricSeries::Point point) {
    std::string key = name;
    for (const auto& [label, value] : labels) key += fmt::format("\x01{}\x02{}", label, value);
    const auto [place, is_new] = places_.try_emplace(std::move(key), series_.size());
    if (is_new) {
      if (series_.size() >= series_most)
        throw BadLine(fmt::format("is one of more than {} series; query vllm:.* or sglang:.* alone",
                                  series_most));
      series_.push_back({name, labels, {}});
    }
    series_[place->second].points.push_back(point);
  }
  std::vector<MetricSeries> take() {
    for (MetricSeries& series : series_)
      std::ranges::stable_sort(series.points, {}, &MetricSeries::Point::time_s);
    return std::move(series_);
  }

 private:
  std::vector<MetricSeries> series_;
  std::map<std::string, std::size_t> places_;
};

/// A line `name{label="value",...} number [timestamp]`.
class SampleLine {
 public:
  explicit SampleLine(std::string_view line) : rest_(line) {}

  void read(SeriesTable& table, double time_s) {
    const std::string name(take_until("{ \t"));
    if (name.empty()) refuse();
    Labels labels;
    skip_blanks();
    if (accept('{')) read_labels(labels);
    skip_blanks();
    const std::string_view number = take_until(" \t");
    table.add(name, labels, {time_s, metric_value(number, name)});
  }

 private:
  [[noreturn]] static void refuse() {
    throw BadLine("expected a metric such as vllm:request_success_total{model_name=\"m\"} 12");
  }
  void skip_blanks() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\t'))
      rest_.remove_prefix(1);
  }
  bool accept(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  std::string_view take_until(std::string_view ends) {
    const auto end = std::min(rest_.find_first_of(ends), rest_.size());
    const std::string_view taken = rest_.substr(0, end);
    rest_.remove_prefix(end);
    return taken;
  }
  void read_labels(Labels& labels) {
    while (true) {
      skip_blanks();
      if (accept('}')) return;
      const std::string key(take_until("=}\""));
      if (key.empty() || !accept('=') || !accept('"')) refuse();
      labels[key] = quoted();
      skip_blanks();
      (void)accept(',');
    }
  }
  /// What stands before the closing quote, with its escapes resolved.
  std::string quoted() {
    std::string text;
    while (!rest_.empty() && rest_.front() != '"') {
      if (accept('\\') && rest_.empty()) refuse();
      text += rest_.front();
      rest_.remove_prefix(1);
    }
    if (!accept('"')) refuse();
    return text;
  }

  std::string_view rest_;
};

void read_page(TextLines& lines, double time_s, SeriesTable& table) {
  std::string_view line;
  while (lines.next(line)) {
    // The format asks for an end, and a number that lacks its own is another number.
    if (lines.is_unended())
      throw ConfigError({lines.path(), lines.number()},
                        "this last line is not terminated, so the page is cut off; save it again "
                        "(a complete page ends with a line feed)");
    if (line.find_first_not_of(" \t") == std::string_view::npos || line.starts_with('#')) continue;
    try {
      SampleLine(line).read(table, time_s);
    } catch (const BadLine& bad) {
      throw ConfigError({lines.path(), lines.number()}, bad.what());
    }
  }
}

/// A point is [time, "value"].
MetricSeries::Point answer_point(const Value& point) {
  const auto* pair = std::get_if<ValueArray>(&point.data);
  if (pair == nullptr || pair->size() != 2 || !(*pair)[1].is_string())
    throw BadLine("expected points of the form [time, \"value\"]");
  return {number_of(&(*pair)[0]).value_or(0),
          metric_value(std::get<std::string>((*pair)[1].data), "a point's value")};
}

void add_answered(const Value& record, SeriesTable& table) {
  const Value* metric = record.is_object() ? record.find("metric") : nullptr;
  if (metric == nullptr || !metric->is_object()) throw BadLine("expected series with \"metric\"");
  Labels labels;
  for (const auto& [key, value] : std::get<ValueObject>(metric->data))
    if (value.is_string()) labels[key] = std::get<std::string>(value.data);
  const std::string name = labels["__name__"];
  labels.erase("__name__");
  if (name.empty())
    throw BadLine(
        "this series has no name, as after sum() or rate(); query the counters themselves, as in "
        "{__name__=~\"vllm:.*\"}");
  if (record.find("value") != nullptr) {
    table.add(name, labels, answer_point(member(record, "value")));
  } else {
    for (const Value& point : list(record, "values")) table.add(name, labels, answer_point(point));
  }
}

void read_answer(TextLines& lines, SeriesTable& table) {
  const std::string text = lines.take_rest(answer_bytes_max);
  each_json_record(text, lines.path(), {.path = {"data", "result", "*"}}, [&](const Value& record) {
    try {
      add_answered(record, table);
    } catch (const BadLine& bad) {
      throw ConfigError(record.position, bad.what());
    }
  });
}

}  // namespace

double MetricSeries::growth() const {
  if (points.size() == 1) return points[0].value;
  double sum = 0;
  for (const Point& point : increments()) sum += point.value;
  return sum;
}

std::vector<MetricSeries::Point> MetricSeries::increments() const {
  std::vector<Point> grown;
  for (std::size_t i = 1; i < points.size(); ++i) {
    const double change = points[i].value - points[i - 1].value;
    grown.push_back({points[i].time_s, change < 0 ? points[i].value : change});
  }
  return grown;
}

std::string MetricSeries::label(const std::string& key) const {
  const auto found = labels.find(key);
  return found == labels.end() ? "" : found->second;
}

std::vector<MetricSeries> load_metrics(const std::vector<std::filesystem::path>& files,
                                       double apart_s) {
  SeriesTable table;
  for (std::size_t i = 0; i < files.size(); ++i) {
    TextLines lines(files[i]);
    if (is_query_answer(trace_head(lines).beginning)) {
      read_answer(lines, table);
    } else {
      read_page(lines, static_cast<double>(i) * apart_s, table);
    }
  }
  return table.take();
}

bool is_metrics_page(std::string_view beginning) {
  return beginning.starts_with("# HELP ") || beginning.starts_with("# TYPE ") ||
         beginning.starts_with("vllm:") || beginning.starts_with("sglang:");
}

bool is_query_answer(std::string_view beginning) {
  return beginning.starts_with('{') && beginning.find("\"resultType\"") != std::string_view::npos;
}

}  // namespace foretoken
