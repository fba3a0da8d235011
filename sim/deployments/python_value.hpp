// Python's way of writing values, as engines log them: {'tp_size': 2}, ServerArgs(tp_size=2,
// host='::', dtype=None). Calls read as objects of their keywords. None, and what is no plain value
// (<class …>), is left out, as null is of JSON.
#pragma once

#include <optional>
#include <string_view>

#include "sim/base/value.hpp"

namespace foretoken {

/// The value that `text` begins with; nullopt where it has no end or is none.
std::optional<Value> python_value(std::string_view text);

}  // namespace foretoken
