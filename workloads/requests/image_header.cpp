#include "workloads/requests/image_header.hpp"

#include <fmt/format.h>

#include "sim/base/fingerprint.hpp"
#include "workloads/requests/prompt_text.hpp"

namespace foretoken {
namespace {

constexpr std::int64_t side_pixels_max = 100'000;
constexpr std::string_view image_url = "messages: content: image_url: ";

unsigned byte_at(std::string_view bytes, std::size_t at) {
  return static_cast<unsigned char>(bytes[at]);
}

std::int64_t big_endian(std::string_view bytes, std::size_t at, std::size_t count) {
  std::int64_t value = 0;
  for (std::size_t i = 0; i < count; ++i) value = value << 8 | byte_at(bytes, at + i);
  return value;
}

std::int64_t little_endian(std::string_view bytes, std::size_t at, std::size_t count) {
  std::int64_t value = 0;
  for (std::size_t i = count; i-- > 0;) value = value << 8 | byte_at(bytes, at + i);
  return value;
}

/// The frame header (SOF) of the first frame; markers with a length before it are passed over
/// (ITU-T T.81, annex B).
std::optional<PixelSize> jpeg_size(std::string_view image) {
  std::size_t at = 2;
  while (at + 9 <= image.size()) {
    if (byte_at(image, at) != 0xFF) return std::nullopt;
    const unsigned marker = byte_at(image, at + 1);
    if (marker == 0xFF) {  // filling
      ++at;
      continue;
    }
    const bool is_frame =
        marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC;
    if (is_frame) return PixelSize{big_endian(image, at + 7, 2), big_endian(image, at + 5, 2)};
    at += 2 + static_cast<std::size_t>(big_endian(image, at + 2, 2));
  }
  return std::nullopt;
}

/// RFC 9649: lossy, lossless and extended files.
std::optional<PixelSize> webp_size(std::string_view image) {
  if (image.size() < 30) return std::nullopt;
  const std::string_view kind = image.substr(12, 4);
  if (kind == "VP8 ")
    return PixelSize{little_endian(image, 26, 2) & 0x3FFF, little_endian(image, 28, 2) & 0x3FFF};
  if (kind == "VP8L") {
    const std::int64_t bits = little_endian(image, 21, 4);
    return PixelSize{1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)};
  }
  if (kind == "VP8X")
    return PixelSize{1 + little_endian(image, 24, 3), 1 + little_endian(image, 27, 3)};
  return std::nullopt;
}

int base64_digit(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+' || c == '-') return 62;
  return c == '/' || c == '_' ? 63 : -1;
}

std::optional<std::int64_t> told_side(const Value& part, const Value& url, const char* key) {
  const Value* told = url.is_object() ? url.find(key) : nullptr;
  if (told == nullptr) told = part.find(key);
  if (told == nullptr) return std::nullopt;
  const auto* pixels = std::get_if<std::int64_t>(&told->data);
  if (pixels == nullptr || *pixels < 1 || *pixels > side_pixels_max) {
    throw BadPrompt(
        fmt::format("{}{} must be an integer from 1 to {}", image_url, key, side_pixels_max));
  }
  return *pixels;
}

PixelSize size_of_data(std::string_view url) {
  const std::size_t comma = url.find(',');
  const bool is_base64 =
      comma != std::string_view::npos && url.substr(0, comma).ends_with(";base64");
  const auto bytes = is_base64 ? from_base64(url.substr(comma + 1)) : std::nullopt;
  if (!bytes) {
    throw BadPrompt(std::string(image_url) +
                    "a data URL must be data:image/TYPE;base64, followed by base64");
  }
  const std::optional<PixelSize> size = pixel_size(*bytes);
  const bool is_usual = size && size->width > 0 && size->height > 0 &&
                        size->width <= side_pixels_max && size->height <= side_pixels_max;
  if (!is_usual) {
    throw BadPrompt(std::string(image_url) +
                    "this data has no readable image size; send a PNG, JPEG, WebP or GIF, or give "
                    "\"width\" and \"height\" next to \"url\"");
  }
  return *size;
}

}  // namespace

std::optional<PixelSize> pixel_size(std::string_view image) {
  if (image.size() >= 24 && image.starts_with("\x89PNG\r\n\x1A\n"))
    return PixelSize{big_endian(image, 16, 4), big_endian(image, 20, 4)};
  if (image.starts_with("\xFF\xD8")) return jpeg_size(image);
  if (image.size() >= 16 && image.starts_with("RIFF") && image.substr(8, 4) == "WEBP")
    return webp_size(image);
  if (image.size() >= 10 && (image.starts_with("GIF87a") || image.starts_with("GIF89a")))
    return PixelSize{little_endian(image, 6, 2), little_endian(image, 8, 2)};
  return std::nullopt;
}

std::optional<std::string> from_base64(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  unsigned bits = 0;
  int count = 0;
  while (text.ends_with('=')) text.remove_suffix(1);
  for (const char c : text) {
    if (c == '\n' || c == '\r') continue;
    const int digit = base64_digit(c);
    if (digit < 0) return std::nullopt;
    bits = (bits << 6 | static_cast<unsigned>(digit)) & 0xFFFFFF;
    if (count += 6; count < 8) continue;
    count -= 8;
    bytes.push_back(static_cast<char>(bits >> count & 0xFF));
  }
  return bytes;
}

SentImage read_image_part(const Value& part) {
  const Value* url = part.find("image_url");
  const Value* text = url != nullptr && url->is_object() ? url->find("url") : url;
  if (text == nullptr || !text->is_string())
    throw BadPrompt(std::string(image_url) + "must have a \"url\" that is a string");
  const std::string& address = std::get<std::string>(text->data);
  constexpr std::uint64_t json_bits = 0x7FFF'FFFF'FFFF'FFFF;
  SentImage image{Fingerprint().add(std::string_view(address)).value() & json_bits, {}};
  const auto width = told_side(part, *url, "width"), height = told_side(part, *url, "height");
  if (width && height) {
    image.size = {*width, *height};
  } else if (address.starts_with("data:")) {
    image.size = size_of_data(address);
  } else {
    throw BadPrompt(
        std::string(image_url) +
        "URLs are not fetched; send the image as a data URL (data:image/png;base64,...), or give "
        "its \"width\" and \"height\" in pixels next to \"url\"");
  }
  return image;
}

}  // namespace foretoken
