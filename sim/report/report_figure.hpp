// Figures read back from report.json's object, by whoever lays runs side by side. Both ends are
// ours: anything missing, or of another type, is an InternalError.
#pragma once

#include <string_view>

#include "sim/base/value.hpp"

namespace foretoken {

const Value& report_member(const Value& report, std::string_view key);
double report_number(const Value& value);
/// The member of `report` called `key`.
double report_number(const Value& report, std::string_view key);

}  // namespace foretoken
