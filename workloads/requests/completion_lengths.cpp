#include "workloads/requests/completion_lengths.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "workloads/requests/prompt_text.hpp"
#include "workloads/requests/trace_fields.hpp"
#include "workloads/requests/trace_format.hpp"

namespace foretoken {
namespace {

int estimated_tokens(std::string_view text) {
  return static_cast<int>(std::min<std::int64_t>(text_tokens(text), 2'147'483'647));
}

/// Images are no text, and what a model makes of them is not known here.
int chat_tokens(const Value& body) {
  const RenderedChat chat = rendered_chat(body);
  if (!chat.images.empty()) {
    throw BadPrompt(
        "messages: content: images are not read from these files; give the file of answers, which "
        "counts their tokens, or a jsonl trace with \"images\"");
  }
  return estimated_tokens(chat.text);
}

int prompt_tokens_of(const Value& body) {
  const Value* prompt = body.find("prompt");
  if (prompt == nullptr) prompt = body.find("input");
  if (prompt == nullptr || body.find("messages") != nullptr) return chat_tokens(body);
  if (prompt->is_string()) return estimated_tokens(std::get<std::string>(prompt->data));
  const auto* ids = std::get_if<ValueArray>(&prompt->data);
  if (ids != nullptr && !ids->empty() && std::holds_alternative<std::int64_t>(ids->front().data))
    return static_cast<int>(ids->size());
  throw BadLine("prompt must be a string or a list of token ids");
}

int output_tokens_of(const Value& body) {
  for (const char* key : {"max_completion_tokens", "max_output_tokens", "max_tokens"}) {
    if (body.find(key) != nullptr) return token_count(body, key);
  }
  throw BadLine(
      "has neither max_completion_tokens nor max_tokens, so nobody knows how long the answer is; "
      "give the file of answers instead");
}

}  // namespace

TraceRow asked_lengths(const Value& body) {
  if (!body.is_object()) throw BadLine(fmt::format("expected {{...}}, found {}", type_name(body)));
  try {
    return {0, prompt_tokens_of(body), output_tokens_of(body), {}};
  } catch (const BadPrompt& bad) {
    throw BadLine(bad.what());
  }
}

TraceRow answered_lengths(const Value& usage) {
  if (!usage.is_object()) throw BadLine("usage must be an object");
  const bool is_older = usage.find("prompt_tokens") != nullptr;
  const char* output = is_older ? "completion_tokens" : "output_tokens";
  if (number_of(usage.find(output)) == 0.0) throw FailedRequest();
  return {0,
          token_count(usage, is_older ? "prompt_tokens" : "input_tokens"),
          token_count(usage, output),
          {}};
}

}  // namespace foretoken
