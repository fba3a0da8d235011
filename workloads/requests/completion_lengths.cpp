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

/// Of a prompt: its text, and the images among it.
TraceRow prompt_of(const Value& body) {
  TraceRow row;
  const Value* prompt = body.find("prompt");
  if (prompt == nullptr) prompt = body.find("input");
  if (prompt == nullptr || body.find("messages") != nullptr) {
    const RenderedChat chat = rendered_chat(body);
    row.prompt_tokens = estimated_tokens(chat.text);
    row.media = images_among_text(chat);
    return row;
  }
  const auto* ids = std::get_if<ValueArray>(&prompt->data);
  if (prompt->is_string()) {
    row.prompt_tokens = estimated_tokens(std::get<std::string>(prompt->data));
  } else if (ids != nullptr && !ids->empty() &&
             std::holds_alternative<std::int64_t>(ids->front().data)) {
    row.prompt_tokens = static_cast<int>(ids->size());
  } else {
    throw BadLine("prompt must be a string or a list of token ids");
  }
  return row;
}

int output_tokens_of(const Value& body) {
  for (const char* key : {"max_completion_tokens", "max_output_tokens", "max_tokens"}) {
    if (body.find(key) != nullptr) return token_count(body, key);
  }
  throw BadLine(
      "has neither max_completion_tokens nor max_tokens, so the length of the answer is unknown; "
      "give the file of answers instead");
}

}  // namespace

TraceRow asked_lengths(const Value& body) {
  if (!body.is_object()) throw BadLine(fmt::format("expected {{...}}, found {}", type_name(body)));
  try {
    TraceRow row = prompt_of(body);
    row.output_tokens = output_tokens_of(body);
    return row;
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
