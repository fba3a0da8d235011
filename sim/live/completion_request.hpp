// What a client of the OpenAI protocol asks for, as far as a simulation can tell: how much is read,
// how much is wanted, what the prompt shares with others. Sampling parameters, tools' results and
// whatever else changes what is said, and not how long it takes, are passed over.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/requests/prompt_text.hpp"
#include "workloads/requests/request.hpp"

namespace foretoken {

/// An answer without tokens: HTTP status, OpenAI's type of error, what is wrong and how to mend it.
class RequestRefused : public std::runtime_error {
 public:
  RequestRefused(int status, std::string type, const std::string& message)
      : std::runtime_error(message), status_(status), type_(std::move(type)) {}
  [[nodiscard]] int status() const { return status_; }
  [[nodiscard]] const std::string& type() const { return type_; }

 private:
  int status_;
  std::string type_;
};

/// A request that vLLM would answer with 400.
RequestRefused bad_request(const std::string& message);

struct CompletionRequest {
  bool is_chat = false;
  std::string model;  // "" = any
  bool streams = false, wants_usage = false;
  std::int64_t prompt_tokens = 1;  // those of images among them
  std::vector<MediaItem> images;
  std::vector<PixelSize> image_sizes;  // of `images`
  /// Of whole blocks of the prompt, each with all before it.
  std::vector<std::uint64_t> prefix_hashes;
  std::optional<std::int64_t> tokens_max;  // max_completion_tokens, max_tokens
  std::int64_t tokens_min = 0;             // min_tokens
  bool ignores_eos = false;                // goes on to tokens_max
  std::vector<std::string> stop;
  int priority = 0;
  std::size_t choices = 1;  // n: answers to the one prompt
};

/// How a model's engine takes prompts.
struct PromptCut {
  int block_tokens = 16;                     // that a prefix hash stands for
  std::optional<MediaEncoder> encoder = {};  // that makes tokens of images
  std::string no_images = {};                // without one, what a request with images is told
};
/// Of the model that a request names ("" = none). Throws RequestRefused where there is none.
using PromptCutOf = std::function<PromptCut(const std::string& model)>;

/// Reads the body of POST /v1/chat/completions (`is_chat`) or /v1/completions. Throws
/// RequestRefused.
CompletionRequest read_completion(std::string_view body, bool is_chat, const PromptCutOf& cut_of);

}  // namespace foretoken
