#include "workloads/requests/trace_date.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "workloads/requests/trace_format.hpp"

namespace foretoken {
namespace {

/// A cursor over a date.
class DateReader {
 public:
  DateReader(std::string_view text, std::string_view name)
      : text_(text), name_(name), rest_(text) {}

  [[noreturn]] void refuse() const {
    throw BadLine(fmt::format("{} must be a date such as 2023-11-16 18:15:46.6805900, found '{}'",
                              name_, text_));
  }

  /// Exactly `digits` digits, as a number within [least, most].
  int number(std::size_t digits, int least, int most) {
    int value = 0;
    if (rest_.size() < digits) refuse();
    for (const char c : rest_.substr(0, digits)) {
      if (c < '0' || c > '9') refuse();
      value = value * 10 + (c - '0');
    }
    if (value < least || value > most) refuse();
    rest_.remove_prefix(digits);
    return value;
  }

  bool accept(std::string_view choices) {
    if (rest_.empty() || choices.find(rest_.front()) == std::string_view::npos) return false;
    rest_.remove_prefix(1);
    return true;
  }

  void expect(std::string_view choices) {
    if (!accept(choices)) refuse();
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
  std::string_view name_;
  std::string_view rest_;
};

}  // namespace

bool is_date(std::string_view text) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return text.size() >= 10 && text[4] == '-' && text[7] == '-' &&
         std::all_of(text.begin(), text.begin() + 4, is_digit);
}

std::int64_t date_ns(std::string_view text, std::string_view name) {
  using namespace std::chrono;
  DateReader reader(text, name);
  // From 1970 to 2199, 64 bits of nanoseconds are enough.
  const int y = reader.number(4, 1970, 2199);
  reader.expect("-");
  const int mo = reader.number(2, 1, 12);
  reader.expect("-");
  const int d = reader.number(2, 1, 31);
  const year_month_day date{year{y}, month{static_cast<unsigned>(mo)},
                            day{static_cast<unsigned>(d)}};
  if (!date.ok()) reader.refuse();
  reader.expect(" T");
  std::int64_t s = reader.number(2, 0, 23) * 3600;
  reader.expect(":");
  s += reader.number(2, 0, 59) * 60;
  reader.expect(":");
  s += reader.number(2, 0, 60);  // 60: a leap second
  const std::int64_t fraction = reader.accept(".,") ? reader.fraction_ns() : 0;
  if (!reader.at_end() && !reader.accept("Z")) {
    const int sign = reader.accept("-") ? -1 : (reader.expect("+"), 1);
    const int hours = reader.number(2, 0, 14);
    const bool has_minutes = reader.accept(":") || !reader.at_end();
    s -= sign * (hours * 3600 + (has_minutes ? reader.number(2, 0, 59) * 60 : 0));
  }
  if (!reader.at_end()) reader.refuse();
  s += sys_days(date).time_since_epoch().count() * std::int64_t{86400};
  return s * 1'000'000'000 + fraction;
}

}  // namespace foretoken
