// Sizes that a nested "text_config" may leave out. Internal to this room.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/base/value.hpp"

namespace foretoken {

/// `text` with what transformers' configuration class of `architecture` would fill in. When
/// transformers saves a model of several parts, it leaves out of each part what is as the class has
/// it; a file that is a language model alone has all fields. `filled`: what was added, "key = 1".
Value with_class_defaults(const Value& text, std::string_view architecture,
                          std::vector<std::string>& filled);

}  // namespace foretoken
