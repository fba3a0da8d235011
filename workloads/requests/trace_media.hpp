// Images and audio clips in traces: `"images": [{"id": 7, "first_token": 120, "tokens": 1024,
// "width": 1280, "height": 720}], "audio": [{"id": 3, "first_token": 1144, "tokens": 300,
// "seconds": 12.5}]` of a request, whose prompt tokens count theirs. How many tokens one becomes is
// the simulated model's encoder's, so that a trace can be played to another model; `tokens` says
// what it was where it was recorded.
#pragma once

#include <cstdint>
#include <vector>

#include "models/media_encoder.hpp"
#include "sim/base/value.hpp"

namespace foretoken {

struct TraceItem {
  std::uint64_t id = 0;  // equal ones are the same
  std::int64_t first_token = 0, tokens = 0;
  std::int64_t width = 0, height = 0;  // images: pixels
  Medium medium = Medium::image;
  std::int64_t ms = 0;  // audio
  friend bool operator==(const TraceItem&, const TraceItem&) = default;

  [[nodiscard]] std::int64_t end() const { return first_token + tokens; }
  [[nodiscard]] MediaPatches cut_by(const MediaEncoder& encoder) const {
    return medium == Medium::image ? encoder.patches_of(width, height)
                                   : encoder.patches_of_clip(ms);
  }
};

/// The members `images` and `audio`, or none if they are absent, in the order of their tokens.
/// Throws BadLine (trace_format.hpp) unless they stand one behind the other within the prompt.
std::vector<TraceItem> trace_media(const Value& row, std::int64_t prompt_tokens);

}  // namespace foretoken
