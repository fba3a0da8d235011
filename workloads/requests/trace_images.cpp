#include "workloads/requests/trace_images.hpp"

#include <fmt/format.h>

#include <limits>

#include "workloads/requests/trace_fields.hpp"
#include "workloads/requests/trace_format.hpp"

namespace foretoken {
namespace {

constexpr std::size_t row_images_max = 10'000;
constexpr std::int64_t row_pixels_max = 100'000;  // on a side

std::int64_t image_number(const Value& image, std::string_view key, std::int64_t least,
                          std::int64_t most) {
  const auto* number = std::get_if<std::int64_t>(&member(image, key).data);
  if (number == nullptr || *number < least || *number > most) {
    throw BadLine(fmt::format("images: \"{}\" must be an integer from {} to {}", key, least, most));
  }
  return *number;
}

}  // namespace

std::vector<TraceImage> trace_images(const Value& row, std::int64_t prompt_tokens) {
  if (row.find("images") == nullptr) return {};
  std::vector<TraceImage> images;
  std::int64_t before = 0;
  for (const Value& one : list(row, "images")) {
    if (!one.is_object()) throw BadLine("images: each must be an object");
    if (images.size() == row_images_max)
      throw BadLine(fmt::format("images: more than {} of one request", row_images_max));
    TraceImage image;
    image.id = static_cast<std::uint64_t>(
        image_number(one, "id", 0, std::numeric_limits<std::int64_t>::max()));
    image.first_token = image_number(one, "first_token", 0, prompt_tokens);
    image.tokens = image_number(one, "tokens", 1, prompt_tokens);
    image.width = image_number(one, "width", 1, row_pixels_max);
    image.height = image_number(one, "height", 1, row_pixels_max);
    if (image.first_token < before)
      throw BadLine("images: must stand in the order of their tokens, none within another");
    if (image.end() > prompt_tokens)
      throw BadLine(fmt::format("images: one ends at token {}, and the prompt has {}", image.end(),
                                prompt_tokens));
    before = image.end();
    images.push_back(image);
  }
  return images;
}

}  // namespace foretoken
