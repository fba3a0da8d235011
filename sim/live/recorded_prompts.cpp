#include "sim/live/recorded_prompts.hpp"

#include <fmt/format.h>

#include <iterator>

namespace foretoken {
namespace {

std::string images_of(const CompletionRequest& asked) {
  std::string text;
  for (std::size_t i = 0; i < asked.images.size(); ++i) {
    const MediaItem& image = asked.images[i];
    const PixelSize& size = asked.image_sizes[i];
    fmt::format_to(std::back_inserter(text),
                   R"({}{{"id":{},"first_token":{},"tokens":{},"width":{},"height":{}}})",
                   i == 0 ? R"(,"images":[)" : ",", image.identity, image.first_token,
                   image.patches.tokens, size.width, size.height);
  }
  return text.empty() ? text : text + "]";
}

}  // namespace

void RecordedPrompts::note(RequestId id, const CompletionRequest& asked, int block_tokens) {
  if (asked.images.empty() && asked.prefix_hashes.empty()) return;
  prompts_.emplace(id.value, Prompt{images_of(asked), asked.prefix_hashes, block_tokens});
}

std::string RecordedPrompts::prefixes(const Prompt& prompt, int block_tokens) {
  std::string text = fmt::format(R"(,"prefix_block_tokens":{},"prefix_hashes":[)", block_tokens);
  const auto step = static_cast<std::size_t>(block_tokens / prompt.block_tokens);
  for (std::size_t end = step; end <= prompt.prefix_hashes.size(); end += step) {
    const auto number = numbers_.try_emplace(prompt.prefix_hashes[end - 1], numbers_.size()).first;
    fmt::format_to(std::back_inserter(text), "{}{}", end == step ? "" : ",", number->second);
  }
  return text + "]";
}

std::string RecordedPrompts::take(RequestId id, int block_tokens) {
  const auto found = prompts_.find(id.value);
  if (found == prompts_.end()) return "";
  const Prompt prompt = std::move(found->second);
  prompts_.erase(found);
  return prompt.images + (block_tokens > 0 ? prefixes(prompt, block_tokens) : "");
}

}  // namespace foretoken
