#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <thread>

#include "calibration/tune/chat/chat.hpp"
#include "sim/base/json.hpp"
#ifdef FORETOKEN_HAS_CURL
#include <curl/curl.h>
#endif

namespace foretoken::tune {
namespace {

#ifdef FORETOKEN_HAS_CURL

constexpr std::size_t answer_bytes_max = 8U << 20U;
constexpr long connect_seconds = 10;
constexpr long wait_seconds_max = 60;

struct Answer {
  long status = 0;       // of HTTP; 0: none came
  std::string text;      // the body, or why there is none
  long retry_after = 0;  // seconds
};

std::size_t take(char* piece, std::size_t size, std::size_t count, void* to) {
  auto& text = *static_cast<std::string*>(to);
  if (text.size() + size * count > answer_bytes_max) return 0;  // ends the transfer
  text.append(piece, size * count);
  return size * count;
}

struct CurlEnd {
  void operator()(CURL* curl) const { curl_easy_cleanup(curl); }
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

bool may_pass(long status) {
  return status == 0 || status == 408 || status == 429 || status >= 500;
}

const Value* member(const Value* value, std::string_view key) {
  return value != nullptr && value->is_object() ? value->find(key) : nullptr;
}

template <class T>
const T* as(const Value* value) {
  return value != nullptr ? std::get_if<T>(&value->data) : nullptr;
}

std::int64_t count_of(const Value* value) {
  const auto* count = as<std::int64_t>(value);
  return count != nullptr ? *count : 0;
}

/// choices[0].message.content and usage of a completion.
ChatReply read_completion(const std::string& text) {
  ChatReply reply;
  const Value root = parse_json(text, {"the endpoint's answer", 1, 0});
  const auto* choices = as<ValueArray>(member(&root, "choices"));
  const Value* first = choices != nullptr && !choices->empty() ? &choices->front() : nullptr;
  const auto* content = as<std::string>(member(member(first, "message"), "content"));
  if (content == nullptr) {
    reply.failure = "the endpoint's answer has no choices[0].message.content";
    return reply;
  }
  reply.text = *content;
  const Value* usage = member(&root, "usage");
  reply.prompt_tokens = count_of(member(usage, "prompt_tokens"));
  reply.reply_tokens = count_of(member(usage, "completion_tokens"));
  return reply;
}

std::string body_of(const ChatRequest& request) {
  ValueArray messages;
  for (const ChatMessage& message : request.messages) {
    messages.emplace_back(ValueObject{{"role", message.role}, {"content", message.text}});
  }
  return to_json(ValueObject{{"model", request.model},
                             {"temperature", request.temperature},
                             {"messages", std::move(messages)}},
                 -1);
}

class CurlEndpoint final : public ChatModel {
 public:
  explicit CurlEndpoint(ChatEndpoint endpoint) : endpoint_(std::move(endpoint)) {
    curl_global_init(CURL_GLOBAL_DEFAULT);
  }

  ChatReply ask(const ChatRequest& request) override {
    const std::string body = body_of(request);
    auto wait = endpoint_.first_wait;
    Answer answer;
    int attempt = 1;
    for (;; ++attempt) {
      answer = post(body);
      if (!may_pass(answer.status) || attempt >= endpoint_.attempts_max) break;
      std::this_thread::sleep_for(std::max<std::chrono::milliseconds>(
          wait, std::chrono::seconds(std::min(answer.retry_after, wait_seconds_max))));
      wait *= 2;
    }
    ChatReply reply;
    if (answer.status == 0) {
      reply.failure = "no answer: " + answer.text;
    } else if (answer.status != 200) {
      reply.failure = fmt::format("HTTP {}: {}", answer.status, answer.text.substr(0, 300));
    } else {
      try {
        reply = read_completion(answer.text);
      } catch (const ConfigError& mistake) {
        reply.failure = mistake.what();
      }
    }
    reply.attempts = attempt;
    return reply;
  }

 private:
  [[nodiscard]] Answer post(const std::string& body) const {
    const std::unique_ptr<CURL, CurlEnd> curl(curl_easy_init());
    if (!curl) return {0, "libcurl cannot be initialized", 0};
    curl_slist* list = curl_slist_append(nullptr, "Content-Type: application/json");
    if (!endpoint_.key.empty()) {
      list = curl_slist_append(list, ("Authorization: Bearer " + endpoint_.key).c_str());
    }
    const std::unique_ptr<curl_slist, CurlEnd> headers(list);
    Answer answer;
    const std::string url = endpoint_.url + "/chat/completions";
    curl_easy_setopt(curl.get(), CURLOPT_URL, url.c_str());
    curl_easy_setopt(curl.get(), CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl.get(), CURLOPT_FOLLOWLOCATION, 0L);  // the key stays with its host
    curl_easy_setopt(curl.get(), CURLOPT_HTTPHEADER, headers.get());
    curl_easy_setopt(curl.get(), CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
    curl_easy_setopt(curl.get(), CURLOPT_POSTFIELDS, body.c_str());
    curl_easy_setopt(curl.get(), CURLOPT_CONNECTTIMEOUT, connect_seconds);
    curl_easy_setopt(curl.get(), CURLOPT_TIMEOUT_MS, static_cast<long>(endpoint_.limit.count()));
    curl_easy_setopt(curl.get(), CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl.get(), CURLOPT_WRITEFUNCTION, take);
    curl_easy_setopt(curl.get(), CURLOPT_WRITEDATA, &answer.text);
    const CURLcode code = curl_easy_perform(curl.get());
    if (code != CURLE_OK) return {0, curl_easy_strerror(code), 0};
    curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &answer.status);
    curl_off_t retry = 0;
    curl_easy_getinfo(curl.get(), CURLINFO_RETRY_AFTER, &retry);
    answer.retry_after = static_cast<long>(retry);
    return answer;
  }

  ChatEndpoint endpoint_;
};

#endif

}  // namespace

std::unique_ptr<ChatModel> make_chat_endpoint(ChatEndpoint endpoint) {
  while (endpoint.url.ends_with('/')) endpoint.url.pop_back();
  if (!endpoint.url.starts_with("http://") && !endpoint.url.starts_with("https://")) {
    throw ConfigError(
        {"--endpoint", 0, 0},
        fmt::format("'{}' is not an http(s) URL such as http://127.0.0.1:8000/v1", endpoint.url));
  }
#ifdef FORETOKEN_HAS_CURL
  return std::make_unique<CurlEndpoint>(std::move(endpoint));
#else
  throw ConfigError({"--endpoint", 0, 0},
                    "this program was built without libcurl: install libcurl4-openssl-dev and "
                    "build again, or use --rewriter command");
#endif
}

}  // namespace foretoken::tune
