// Any CSV with a header that names its columns; others are ignored, and there is no quoting.
// Columns are known by the names that servers, load tools and published traces give them, however
// they are written (arrivalTime, "Arrival time", ARRIVAL_TIME). Arrivals are seconds, or what their
// name ends in (timestamp_ms), or Unix time in whatever unit its size says, or dates. A file
// without arrivals serves as a source of lengths.
#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <optional>

#include "workloads/requests/trace_date.hpp"
#include "workloads/requests/trace_fields.hpp"
#include "workloads/requests/trace_format.hpp"

namespace foretoken {
namespace {

// Without what stands between words, in lower case; those that say most first.
constexpr auto arrival_names = std::to_array<std::string_view>({"arrival",
                                                                "arrivaltime",
                                                                "arrivedat",
                                                                "arrivaltimestamp",
                                                                "arrivaldate",
                                                                "requesttime",
                                                                "requesttimestamp",
                                                                "requeststarttime",
                                                                "starttime",
                                                                "starttimestamp",
                                                                "startedat",
                                                                "submittime",
                                                                "submittedat",
                                                                "senttime",
                                                                "sentat",
                                                                "createdat",
                                                                "timestamp",
                                                                "datetime",
                                                                "date",
                                                                "time",
                                                                "ts"});
constexpr auto prompt_names = std::to_array<std::string_view>(
    {"prompttokens", "numprefilltokens", "inputtokens", "inputlength", "inputtoks", "contexttokens",
     "requesttokens", "prefilltokens", "numprompttokens", "numinputtokens", "prompttokencount",
     "inputtokencount", "promptlength", "promptlen", "inputlen", "prompttoks", "isl"});
constexpr auto output_names = std::to_array<std::string_view>(
    {"outputtokens", "numdecodetokens", "outputlength", "outputtoks", "generatedtokens",
     "completiontokens", "responsetokens", "decodetokens", "numoutputtokens", "outputtokencount",
     "completiontokencount", "numgeneratedtokens", "numcompletiontokens", "outputlen",
     "completionlength", "generatedtoks", "osl"});

struct Unit {
  std::string_view suffix;
  double seconds;
};
constexpr auto units = std::to_array<Unit>({{"milliseconds", 1e-3},
                                            {"microseconds", 1e-6},
                                            {"nanoseconds", 1e-9},
                                            {"seconds", 1.0},
                                            {"sec", 1.0},
                                            {"ms", 1e-3},
                                            {"us", 1e-6},
                                            {"ns", 1e-9},
                                            {"s", 1.0}});

std::string plain(std::string_view name) {
  std::string text;
  for (const unsigned char c : name)
    if (std::isalnum(c) != 0) text += static_cast<char>(std::tolower(c));
  return text;
}

struct Column {
  std::size_t index;
  std::string name;  // as the file spells it
};

template <class Names>
std::optional<Column> find_column(const std::vector<std::string_view>& fields, const Names& names,
                                  std::string_view suffix = "") {
  for (const std::string_view name : names) {
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (plain(fields[i]) == std::string(name) + std::string(suffix))
        return Column{i, std::string(fields[i])};
    }
  }
  return std::nullopt;
}

/// Unix time is beyond 1e11 ms since 1973, and no trace lasts 1e11 s.
double unit_of_size(std::string_view text) {
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value >= 1e17 ? 1e-9 : value >= 1e14 ? 1e-6 : value >= 1e11 ? 1e-3 : 1.0;
}

class Csv final : public LineTraceFormat {
 public:
  bool recognises(const TraceHead& head) const override {
    const auto fields = comma_fields(head.first_line);
    return find_column(fields, prompt_names) || find_column(fields, output_names);
  }

  bool take_header(std::string_view first_line) override {
    const auto fields = comma_fields(first_line);
    for (const Unit& unit : units) {
      arrival_ = find_column(fields, arrival_names, unit.suffix);
      unit_s_ = unit.seconds;
      if (arrival_) break;
    }
    if (!arrival_) {
      arrival_ = find_column(fields, arrival_names);
      unit_s_.reset();
    }
    names_ = fmt::format("{}", fmt::join(fields, ", "));
    prompt_ = require(find_column(fields, prompt_names), "prompt");
    output_ = require(find_column(fields, output_names), "output");
    columns_ = fields.size();
    return true;
  }

  TraceRow parse(std::string_view line) const override {
    const auto fields = comma_fields(line);
    if (fields.size() != columns_) {
      throw BadLine(
          fmt::format("expected {} fields as in the header, found {}", columns_, fields.size()));
    }
    return {arrival_ ? arrival_ns(fields[arrival_->index]) : 0,
            token_count(fields[prompt_.index], prompt_.name),
            token_count(fields[output_.index], output_.name),
            {}};
  }

  bool has_arrivals() const override { return arrival_.has_value(); }
  std::string columns() const override { return names_; }

 private:
  [[nodiscard]] Column require(std::optional<Column> column, std::string_view kind) const {
    if (column) return *std::move(column);
    throw BadLine(
        fmt::format("no column is called {0}_tokens or similar; found: {1}. "
                    "Expected a header such as arrival_s,prompt_tokens,output_tokens",
                    kind, names_));
  }

  [[nodiscard]] std::int64_t arrival_ns(std::string_view text) const {
    if (is_date(text)) return date_ns(text, arrival_->name);
    return time_ns(text, arrival_->name, unit_s_ ? *unit_s_ : unit_of_size(text));
  }

  std::optional<Column> arrival_;
  std::optional<double> unit_s_;  // as the column's name says
  Column prompt_ = {};
  Column output_ = {};
  std::string names_;
  std::size_t columns_ = 0;
};

}  // namespace

std::unique_ptr<TraceFormat> csv_trace() { return std::make_unique<Csv>(); }

}  // namespace foretoken
