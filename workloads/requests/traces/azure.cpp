// Azure's public LLM inference traces (github.com/Azure/AzurePublicDataset): a header, then one
// request a line with its date, prompt and generated tokens. The 2023 files end lines with CR LF
// and give seven decimals; the 2024 ones give six or none and a UTC offset. Dates are read as
// integers, because a double cannot hold today's date to 100 ns.
#include <charconv>
#include <chrono>

#include "workloads/requests/trace_fields.hpp"
#include "workloads/requests/trace_format.hpp"

namespace foretoken {
namespace {

constexpr std::string_view header = "TIMESTAMP,ContextTokens,GeneratedTokens";

[[noreturn]] void bad_date(std::string_view text) {
  throw BadLine(fmt::format(
      "TIMESTAMP must be a date such as 2023-11-16 18:15:46.6805900, found '{}'", text));
}

/// A cursor over a date.
class DateReader {
 public:
  explicit DateReader(std::string_view text) : text_(text), rest_(text) {}

  /// Exactly `digits` digits, as a number within [least, most].
  int number(std::size_t digits, int least, int most) {
    int value = 0;
    if (rest_.size() < digits) bad_date(text_);
    for (const char c : rest_.substr(0, digits)) {
      if (c < '0' || c > '9') bad_date(text_);
      value = value * 10 + (c - '0');
    }
    if (value < least || value > most) bad_date(text_);
    rest_.remove_prefix(digits);
    return value;
  }

  bool accept(std::string_view choices) {
    if (rest_.empty() || choices.find(rest_.front()) == std::string_view::npos) return false;
    rest_.remove_prefix(1);
    return true;
  }

  void expect(std::string_view choices) {
    if (!accept(choices)) bad_date(text_);
  }

  /// Digits after a decimal point, as nanoseconds; what lies beyond the ninth is dropped.
  std::int64_t fraction_ns() {
    std::int64_t ns = 0;
    std::int64_t weight = 100'000'000;
    while (!rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9') {
      ns += weight * (rest_.front() - '0');
      weight /= 10;
      rest_.remove_prefix(1);
    }
    return ns;
  }

  [[nodiscard]] bool at_end() const { return rest_.empty(); }

 private:
  std::string_view text_;
  std::string_view rest_;
};

std::int64_t date_ns(std::string_view text) {
  using namespace std::chrono;
  DateReader reader(text);
  // From 1970 to 2199, 64 bits of nanoseconds are enough.
  const int y = reader.number(4, 1970, 2199);
  reader.expect("-");
  const int mo = reader.number(2, 1, 12);
  reader.expect("-");
  const int d = reader.number(2, 1, 31);
  const year_month_day date{year{y}, month{static_cast<unsigned>(mo)},
                            day{static_cast<unsigned>(d)}};
  if (!date.ok()) bad_date(text);
  reader.expect(" T");
  std::int64_t s = reader.number(2, 0, 23) * 3600;
  reader.expect(":");
  s += reader.number(2, 0, 59) * 60;
  reader.expect(":");
  s += reader.number(2, 0, 60);  // 60: a leap second
  const std::int64_t fraction = reader.accept(".") ? reader.fraction_ns() : 0;
  if (!reader.at_end() && !reader.accept("Z")) {
    const int sign = reader.accept("-") ? -1 : (reader.expect("+"), 1);
    const int hours = reader.number(2, 0, 14);
    reader.expect(":");
    s -= sign * (hours * 3600 + reader.number(2, 0, 59) * 60);
  }
  if (!reader.at_end()) bad_date(text);
  s += sys_days(date).time_since_epoch().count() * std::int64_t{86400};
  return s * 1'000'000'000 + fraction;
}

class Azure final : public TraceFormat {
 public:
  bool recognises(std::string_view first_line) const override { return first_line == header; }

  bool take_header(std::string_view first_line) override {
    if (first_line == header) return true;
    throw BadLine(fmt::format("expected the header {}", header));
  }

  TraceRow parse(std::string_view line) const override {
    const auto fields = comma_fields(line);
    if (fields.size() != 3) {
      throw BadLine(fmt::format("expected 3 fields ({}), found {}", header, fields.size()));
    }
    return {date_ns(fields[0]),
            token_count(fields[1], "ContextTokens"),
            token_count(fields[2], "GeneratedTokens"),
            {}};
  }
};

}  // namespace

std::unique_ptr<TraceFormat> azure_trace() { return std::make_unique<Azure>(); }

}  // namespace foretoken
