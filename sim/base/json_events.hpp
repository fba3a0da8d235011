// JSON text as a sequence of events, for whoever builds trees of it or looks for parts of it. Wraps
// nlohmann's parser: Python's NaN and Infinity are numbers, nesting is bounded, mistakes have
// lines.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "sim/base/value.hpp"

namespace foretoken {

class JsonHandler {
 public:
  virtual ~JsonHandler() = default;
  virtual void null() = 0;
  /// A truth value, a number or a string.
  virtual void scalar(Value value) = 0;
  /// `empty` is {} or [].
  virtual void open(Value empty) = 0;
  virtual void key(std::string name) = 0;
  virtual void close() = 0;
  /// The line that comes next, from 1; told before each of the above.
  int line = 1;
};

/// Tells `handler` what `text` holds: one document, or with `is_sequence` any number of them, as in
/// JSON lines. `position` names its place (line 0 for a whole file: the line of a mistake is filled
/// in). Throws ConfigError.
void parse_json_events(std::string_view text, const SourcePosition& position, bool is_sequence,
                       JsonHandler& handler);

}  // namespace foretoken
