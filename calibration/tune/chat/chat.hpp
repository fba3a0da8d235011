// A language model behind an OpenAI-compatible chat endpoint, and conversations kept in a file,
// from which a run is repeated without the endpoint. Who asks what is the rewriter's business
// (rewriters/chat.cpp).
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace foretoken::tune {

struct ChatMessage {
  std::string role;  // "system" or "user"
  std::string text;
};

struct ChatRequest {
  std::string model;
  double temperature = 0;
  std::vector<ChatMessage> messages;
};

struct ChatReply {
  std::string text;
  std::string failure;  // why there is no text; empty where there is
  std::int64_t prompt_tokens = 0, reply_tokens = 0;
  int attempts = 0;  // 0: from a file
};

class ChatModel {
 public:
  virtual ~ChatModel() = default;
  /// Never throws for what the endpoint does: that is a reply's failure.
  virtual ChatReply ask(const ChatRequest& request) = 0;
};

struct ChatEndpoint {
  std::string url;  // "http://127.0.0.1:8000/v1"; "/chat/completions" is added
  std::string key;  // sent as a bearer token unless empty
  std::chrono::milliseconds limit{300'000};     // of one attempt
  int attempts_max = 4;                         // on no answer, 408, 429 and 5xx
  std::chrono::milliseconds first_wait{1'000};  // before the second; doubles; Retry-After counts
};
/// Throws ConfigError where the program was built without libcurl, or `url` is none of http(s).
std::unique_ptr<ChatModel> make_chat_endpoint(ChatEndpoint endpoint);

/// Answers from `file` (a line of JSON an exchange) what it holds of the same request, the first
/// time a run asks it with the first reply, the second with the second; asks `inner` for the rest
/// and appends it. Without `inner` the rest is a failure. Throws ConfigError for a damaged file; a
/// last line that was cut off is left out.
std::unique_ptr<ChatModel> make_recorded_chat(std::unique_ptr<ChatModel> inner,
                                              const std::string& file);

/// What conversations came to.
struct ChatUsage {
  std::int64_t requests = 0, failures = 0, from_file = 0, attempts = 0;
  std::int64_t prompt_tokens = 0, reply_tokens = 0;

  void add(const ChatReply& reply);
  /// US$ at prices per million tokens.
  [[nodiscard]] double cost(double prompt_price, double reply_price) const;
};

}  // namespace foretoken::tune
