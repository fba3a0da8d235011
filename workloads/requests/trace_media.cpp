#include "workloads/requests/trace_media.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "workloads/requests/trace_fields.hpp"
#include "workloads/requests/trace_format.hpp"

namespace foretoken {
namespace {

constexpr std::size_t row_items_max = 10'000;
constexpr std::int64_t row_pixels_max = 100'000;  // on a side
constexpr double row_seconds_max = 86'400;

/// A member of a trace's images or clips while it is read.
struct ItemReader {
  const char* list;  // "images"
  const Value& item;

  [[nodiscard]] std::int64_t number(std::string_view key, std::int64_t least,
                                    std::int64_t most) const {
    const auto* number = std::get_if<std::int64_t>(&member(item, key).data);
    if (number == nullptr || *number < least || *number > most) {
      throw BadLine(
          fmt::format("{}: \"{}\" must be an integer from {} to {}", list, key, least, most));
    }
    return *number;
  }
  [[nodiscard]] std::int64_t milliseconds(std::string_view key) const {
    const Value& given = member(item, key);
    const auto* whole = std::get_if<std::int64_t>(&given.data);
    const auto* number = std::get_if<double>(&given.data);
    const double seconds = whole != nullptr    ? static_cast<double>(*whole)
                           : number != nullptr ? *number
                                               : -1;
    if (!(seconds > 0 && seconds <= row_seconds_max)) {
      throw BadLine(fmt::format("{}: \"{}\" must be a number above 0, at most {}", list, key,
                                row_seconds_max));
    }
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(seconds * 1000)));
  }
};

void add_items(const Value& row, Medium medium, const char* key, std::int64_t prompt_tokens,
               std::vector<TraceItem>& items) {
  if (row.find(key) == nullptr) return;
  for (const Value& one : list(row, key)) {
    if (!one.is_object()) throw BadLine(fmt::format("{}: each must be an object", key));
    if (items.size() == row_items_max)
      throw BadLine(fmt::format("{}: more than {} of one request", key, row_items_max));
    const ItemReader reader{key, one};
    TraceItem item;
    item.medium = medium;
    item.id = static_cast<std::uint64_t>(
        reader.number("id", 0, std::numeric_limits<std::int64_t>::max()));
    item.first_token = reader.number("first_token", 0, prompt_tokens);
    item.tokens = reader.number("tokens", 1, prompt_tokens);
    if (medium == Medium::image) {
      item.width = reader.number("width", 1, row_pixels_max);
      item.height = reader.number("height", 1, row_pixels_max);
    } else {
      item.ms = reader.milliseconds("seconds");
    }
    if (item.end() > prompt_tokens)
      throw BadLine(fmt::format("{}: one ends at token {}, but the prompt has {}", key, item.end(),
                                prompt_tokens));
    if (!items.empty() && items.back().medium == medium && item.first_token < items.back().end())
      throw BadLine(
          fmt::format("{}: must be in the order of their tokens, none within another", key));
    items.push_back(item);
  }
}

}  // namespace

std::vector<TraceItem> trace_media(const Value& row, std::int64_t prompt_tokens) {
  std::vector<TraceItem> items;
  add_items(row, Medium::image, "images", prompt_tokens, items);
  add_items(row, Medium::audio, "audio", prompt_tokens, items);
  std::ranges::stable_sort(items, {}, &TraceItem::first_token);
  for (std::size_t i = 1; i < items.size(); ++i) {
    if (items[i].first_token < items[i - 1].end())
      throw BadLine("audio: a clip lies within an image, or an image within it");
  }
  return items;
}

}  // namespace foretoken
