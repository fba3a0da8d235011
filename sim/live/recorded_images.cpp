#include "sim/live/recorded_images.hpp"

#include <fmt/format.h>

#include <iterator>

namespace foretoken {

void RecordedImages::note(RequestId id, const CompletionRequest& asked) {
  std::string text;
  for (std::size_t i = 0; i < asked.images.size(); ++i) {
    const MediaItem& image = asked.images[i];
    const PixelSize& size = asked.image_sizes[i];
    fmt::format_to(std::back_inserter(text),
                   R"({}{{"id":{},"first_token":{},"tokens":{},"width":{},"height":{}}})",
                   i == 0 ? R"(,"images":[)" : ",", image.identity, image.first_token,
                   image.patches.tokens, size.width, size.height);
  }
  if (!text.empty()) images_.emplace(id.value, text + "]");
}

std::string RecordedImages::take(RequestId id) {
  const auto found = images_.find(id.value);
  if (found == images_.end()) return "";
  std::string text = std::move(found->second);
  images_.erase(found);
  return text;
}

}  // namespace foretoken
