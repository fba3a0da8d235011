#include "sim/live/completion_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "sim/base/json.hpp"
#include "sim/live/completion_request.hpp"

namespace foretoken {
namespace {

constexpr std::int64_t distinct_tokens = 1000;

std::string quoted(std::string_view text) { return to_json(Value(std::string(text)), -1); }

/// As JSON: the reason, or null.
std::string finish(std::string_view reason) { return reason.empty() ? "null" : quoted(reason); }

std::string usage_object(const TokenUsage& usage) {
  return fmt::format(R"({{"prompt_tokens":{},"completion_tokens":{},"total_tokens":{}}})",
                     usage.prompt, usage.completion, usage.prompt + usage.completion);
}

}  // namespace

std::string answer_text(std::int64_t first, std::int64_t count) {
  std::string text;
  for (std::int64_t token = first; token < first + count; ++token)
    fmt::format_to(std::back_inserter(text), " {:03}", token % distinct_tokens);
  return text;
}

std::optional<StopPlace> find_stop(const std::vector<std::string>& stop, std::int64_t tokens_max,
                                   std::int64_t tokens_min) {
  std::size_t longest = 0;
  for (const std::string& each : stop) longest = std::max(longest, each.size());
  if (longest == 0 || tokens_min >= tokens_max) return std::nullopt;
  const std::int64_t length = static_cast<std::int64_t>(longest);
  const std::int64_t first = std::max<std::int64_t>(0, tokens_min - length);
  // The text repeats itself: what is not in it by then never is.
  const std::int64_t looked_at = std::min(tokens_max, tokens_min + distinct_tokens + length);
  const std::string text = answer_text(first, looked_at - first);
  const auto bytes_before = static_cast<std::size_t>(first * text_bytes_per_token);
  const auto unseen = static_cast<std::size_t>((tokens_min - first) * text_bytes_per_token);
  // A server looks after every token: what is whole first counts, then what begins first.
  std::optional<StopPlace> found;
  for (const std::string& each : stop) {
    // The first that ends behind what is not looked at.
    std::size_t begin = text.find(each, unseen + 1 - std::min(each.size(), unseen + 1));
    if (begin == std::string::npos) continue;
    begin += bytes_before;
    const auto end = static_cast<std::int64_t>(begin + each.size());
    const StopPlace place{(end + text_bytes_per_token - 1) / text_bytes_per_token, begin};
    const auto rank = [](const StopPlace& one) { return std::pair(one.tokens, one.bytes); };
    if (!found || rank(place) < rank(*found)) found = place;
  }
  return found;
}

CompletionEnvelope::CompletionEnvelope(bool is_chat, std::string_view id, std::string_view model,
                                       std::int64_t created)
    : is_chat_(is_chat) {
  const auto head = [&](std::string_view object) {
    return fmt::format(R"({{"id":{},"object":"{}","created":{},"model":{},"choices":)", quoted(id),
                       object, created, quoted(model));
  };
  head_ = head(is_chat ? "chat.completion.chunk" : "text_completion");
  whole_head_ = head(is_chat ? "chat.completion" : "text_completion");
}

std::string CompletionEnvelope::role_event(std::size_t choice) const {
  return fmt::format("data: {}[{{\"index\":{},{}}}]}}\n\n", head_, choice,
                     R"("delta":{"role":"assistant","content":""},"logprobs":null,)"
                     R"("finish_reason":null)");
}

std::string CompletionEnvelope::text_event(std::size_t choice, std::string_view text,
                                           std::string_view finish_reason) const {
  // The text holds digits and spaces: nothing to escape.
  const std::string told = is_chat_ ? fmt::format(R"("delta":{{"content":"{}"}})", text)
                                    : fmt::format(R"("text":"{}")", text);
  return fmt::format("data: {}[{{\"index\":{},{},\"logprobs\":null,\"finish_reason\":{}}}]}}\n\n",
                     head_, choice, told, finish(finish_reason));
}

std::string CompletionEnvelope::usage_event(const TokenUsage& usage) const {
  return fmt::format("data: {}[],\"usage\":{}}}\n\n", head_, usage_object(usage));
}

std::string CompletionEnvelope::whole(const std::vector<ChoiceText>& choices,
                                      const TokenUsage& usage) const {
  std::string list;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const std::string told =
        is_chat_
            ? fmt::format(R"("message":{{"role":"assistant","content":"{}"}})", choices[i].text)
            : fmt::format(R"("text":"{}")", choices[i].text);
    fmt::format_to(std::back_inserter(list),
                   R"({}{{"index":{},{},"logprobs":null,"finish_reason":{}}})", i > 0 ? "," : "", i,
                   told, finish(choices[i].finish_reason));
  }
  return fmt::format(R"({}[{}],"usage":{}}})", whole_head_, list, usage_object(usage));
}

std::string error_object(int status, std::string_view type, std::string_view message) {
  return fmt::format(R"({{"error":{{"message":{},"type":{},"param":null,"code":{}}}}})",
                     quoted(message), quoted(type), status);
}

}  // namespace foretoken
