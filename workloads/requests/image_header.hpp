// How large an image is, from its own bytes or as an OpenAI client sends it. Nothing is decoded
// beyond the header, and nothing is fetched.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sim/base/value.hpp"

namespace foretoken {

struct PixelSize {
  std::int64_t width = 0, height = 0;
  friend bool operator==(const PixelSize&, const PixelSize&) = default;
};

/// Of a PNG, JPEG, WebP or GIF; nullopt: it is none of these, or ends before it tells.
std::optional<PixelSize> pixel_size(std::string_view image);

/// RFC 4648, with or without padding, line ends passed over; nullopt: another character.
std::optional<std::string> from_base64(std::string_view text);

/// An image of a prompt: what it is told apart by (equal images have equal identities, at most 63
/// bits, so that JSON can hold them) and how large it is.
struct SentImage {
  std::uint64_t identity = 0;
  PixelSize size;
};

/// A message's part of type image_url: a data URL, whose size is read, or any URL with `width` and
/// `height` in pixels beside it. Throws BadPrompt (prompt_text.hpp).
SentImage read_image_part(const Value& part);

}  // namespace foretoken
