#include "sim/report/report_figure.hpp"

namespace foretoken {

const Value& report_member(const Value& report, std::string_view key) {
  const Value* found = report.find(key);
  FORETOKEN_CHECK(found != nullptr, "a report lacks '{}'", key);
  return *found;
}

double report_number(const Value& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value.data)) {
    return static_cast<double>(*integer);
  }
  const auto* real = std::get_if<double>(&value.data);
  FORETOKEN_CHECK(real != nullptr, "a report's figure is {}", type_name(value));
  return *real;
}

double report_number(const Value& report, std::string_view key) {
  return report_number(report_member(report, key));
}

}  // namespace foretoken
