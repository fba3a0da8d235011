#include "workloads/requests/prompt_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/json.hpp"

namespace foretoken {
namespace {

const std::string& prompt_part(const Value& value, std::string_view what) {
  if (!value.is_string()) throw BadPrompt(fmt::format("{}: must be a string", what));
  return std::get<std::string>(value.data);
}

constexpr std::size_t images_of_a_prompt_max = 10'000;

bool is_image(const Value& part) {
  if (!part.is_object()) return false;
  const Value* type = part.find("type");
  const bool is_called =
      type != nullptr && type->is_string() && std::get<std::string>(type->data) == "image_url";
  return is_called || part.find("image_url") != nullptr;
}

/// What a message says: a string, or parts of which each is text or an image.
void append_content(const Value& content, RenderedChat& rendered) {
  const auto* parts = std::get_if<ValueArray>(&content.data);
  if (parts == nullptr) {
    rendered.text += prompt_part(content, "messages: content");
    return;
  }
  for (const Value& part : *parts) {
    if (is_image(part)) {
      rendered.images.push_back({read_image_part(part), rendered.text.size()});
      if (rendered.images.size() > images_of_a_prompt_max)
        throw BadPrompt(fmt::format("messages: more than {} images", images_of_a_prompt_max));
      continue;
    }
    const Value* told = part.is_object() ? part.find("text") : nullptr;
    if (told == nullptr)
      throw BadPrompt("messages: content: only parts of type text and image_url are supported");
    rendered.text += prompt_part(*told, "messages: content: text");
  }
}

}  // namespace

std::int64_t text_tokens(std::string_view text) {
  const auto bytes = static_cast<std::int64_t>(text.size());
  return std::max<std::int64_t>(1, (bytes + text_bytes_per_token - 1) / text_bytes_per_token);
}

RenderedChat rendered_content(const Value& content) {
  RenderedChat rendered;
  append_content(content, rendered);
  return rendered;
}

std::vector<TraceItem> images_among_text(const RenderedChat& chat) {
  std::vector<TraceItem> items;
  for (const ChatImage& sent : chat.images) {
    TraceItem item;
    item.id = sent.image.identity;
    const auto before = static_cast<std::int64_t>(sent.text_before);
    item.first_token = (before + text_bytes_per_token - 1) / text_bytes_per_token;
    item.width = sent.image.size.width;
    item.height = sent.image.size.height;
    items.push_back(item);
  }
  return items;
}

RenderedChat rendered_chat(const Value& body) {
  const Value* messages = body.find("messages");
  const auto* list = messages == nullptr ? nullptr : std::get_if<ValueArray>(&messages->data);
  if (list == nullptr || list->empty()) throw BadPrompt("messages: must be a list of messages");
  RenderedChat rendered;
  for (const Value& message : *list) {
    const Value* role = message.is_object() ? message.find("role") : nullptr;
    if (role == nullptr) throw BadPrompt("messages: every message needs a role");
    rendered.text += prompt_part(*role, "messages: role") + "\n";
    if (const Value* content = message.find("content")) append_content(*content, rendered);
    if (const Value* calls = message.find("tool_calls")) rendered.text += to_json(*calls, -1);
    rendered.text += "\n";
  }
  if (const Value* tools = body.find("tools")) rendered.text += to_json(*tools, -1);
  return rendered;
}

}  // namespace foretoken
