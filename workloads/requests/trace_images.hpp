// Images in traces: `"images": [{"id": 7, "first_token": 120, "tokens": 1024, "width": 1280,
// "height": 720}]` of a request, whose prompt tokens count theirs. How many tokens an image becomes
// is the simulated model's encoder's, so that a trace can be played to another model; `tokens` says
// what it was where it was recorded.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/base/value.hpp"

namespace foretoken {

struct TraceImage {
  std::uint64_t id = 0;  // equal ones are the same image
  std::int64_t first_token = 0, tokens = 0;
  std::int64_t width = 0, height = 0;  // pixels
  friend bool operator==(const TraceImage&, const TraceImage&) = default;

  [[nodiscard]] std::int64_t end() const { return first_token + tokens; }
};

/// The member `images`, or none if it is absent. Throws BadLine (trace_format.hpp) unless they
/// stand one behind the other within the prompt.
std::vector<TraceImage> trace_images(const Value& row, std::int64_t prompt_tokens);

}  // namespace foretoken
