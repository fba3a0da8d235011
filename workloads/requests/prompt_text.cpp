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

/// The text of a message: a string, or parts of which each is text.
void append_content(const Value& content, std::string& rendered) {
  const auto* parts = std::get_if<ValueArray>(&content.data);
  if (parts == nullptr) {
    rendered += prompt_part(content, "messages: content");
    return;
  }
  for (const Value& part : *parts) {
    const Value* told = part.is_object() ? part.find("text") : nullptr;
    if (told == nullptr) throw BadPrompt("messages: content: only parts of type text are served");
    rendered += prompt_part(*told, "messages: content: text");
  }
}

}  // namespace

std::int64_t text_tokens(std::string_view text) {
  const auto bytes = static_cast<std::int64_t>(text.size());
  return std::max<std::int64_t>(1, (bytes + text_bytes_per_token - 1) / text_bytes_per_token);
}

std::string rendered_chat(const Value& body) {
  const Value* messages = body.find("messages");
  const auto* list = messages == nullptr ? nullptr : std::get_if<ValueArray>(&messages->data);
  if (list == nullptr || list->empty()) throw BadPrompt("messages: must be a list of messages");
  std::string rendered;
  for (const Value& message : *list) {
    const Value* role = message.is_object() ? message.find("role") : nullptr;
    if (role == nullptr) throw BadPrompt("messages: every message needs a role");
    rendered += prompt_part(*role, "messages: role") + "\n";
    if (const Value* content = message.find("content")) append_content(*content, rendered);
    if (const Value* calls = message.find("tool_calls")) rendered += to_json(*calls, -1);
    rendered += "\n";
  }
  if (const Value* tools = body.find("tools")) rendered += to_json(*tools, -1);
  return rendered;
}

}  // namespace foretoken
