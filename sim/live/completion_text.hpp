// What an answer says, and how the OpenAI protocol wraps it. Its tokens are numbers that count up
// (" 000", " 001", ... " 999", " 000"): a client can see that none is missing, and their text is as
// long as prompts count tokens (text_bytes_per_token).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace foretoken {

/// Tokens number `first` to `first + count` of every answer.
std::string answer_text(std::int64_t first, std::int64_t count);

/// Where an answer ends because one of `stop` is in it.
struct StopPlace {
  std::int64_t tokens = 0;  // that are drawn for it
  std::size_t bytes = 0;    // of text that the client gets
};
/// Nothing, if none of `stop` is within the first `tokens_max` tokens. Those that are whole within
/// the first `tokens_min` end nothing, as vLLM does not look for them yet.
std::optional<StopPlace> find_stop(const std::vector<std::string>& stop, std::int64_t tokens_max,
                                   std::int64_t tokens_min = 0);

struct TokenUsage {
  std::int64_t prompt = 0, completion = 0;
};

/// What the client got as one of several answers to its prompt.
struct ChoiceText {
  std::string text, finish_reason;
};

/// The envelope of all answers to a prompt.
class CompletionEnvelope {
 public:
  CompletionEnvelope(bool is_chat, std::string_view id, std::string_view model,
                     std::int64_t created);

  /// Server-sent events, each with the empty line at its end, of the answer numbered `choice`.
  /// `finish_reason` "": not finished.
  [[nodiscard]] std::string role_event(std::size_t choice) const;  // what a chat begins with
  [[nodiscard]] std::string text_event(std::size_t choice, std::string_view text,
                                       std::string_view finish_reason) const;
  [[nodiscard]] std::string usage_event(const TokenUsage& usage) const;
  /// The answers as one object.
  [[nodiscard]] std::string whole(const std::vector<ChoiceText>& choices,
                                  const TokenUsage& usage) const;

 private:
  bool is_chat_;
  std::string head_, whole_head_;  // {"id":... up to the value of "choices"
};

inline constexpr std::string_view done_event = "data: [DONE]\n\n";

/// {"error": {...}}, as OpenAI and vLLM answer.
std::string error_object(int status, std::string_view type, std::string_view message);

}  // namespace foretoken
