#include "sim/live/completion_request.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "sim/base/fingerprint.hpp"
#include "sim/base/json.hpp"

namespace foretoken {
namespace {

constexpr std::int64_t tokens_asked_max = 100'000'000;
constexpr std::int64_t choices_max = 128;  // OpenAI's own limit
constexpr std::size_t stop_strings_max = 16, stop_bytes_max = 1024;

std::optional<std::int64_t> whole_number(const Value& body, std::string_view key,
                                         std::int64_t least, std::int64_t most) {
  const Value* value = body.find(key);
  if (value == nullptr) return std::nullopt;
  const auto* number = std::get_if<std::int64_t>(&value->data);
  if (number == nullptr || *number < least || *number > most) {
    throw bad_request(fmt::format("{}: must be an integer from {} to {}", key, least, most));
  }
  return *number;
}

bool flag(const Value& body, std::string_view key) {
  const Value* value = body.find(key);
  if (value == nullptr) return false;
  const auto* is_set = std::get_if<bool>(&value->data);
  if (is_set == nullptr) throw bad_request(fmt::format("{}: must be true or false", key));
  return *is_set;
}

const std::string& text(const Value& value, std::string_view what) {
  if (!value.is_string()) throw bad_request(fmt::format("{}: must be a string", what));
  return std::get<std::string>(value.data);
}

void take_text(CompletionRequest& request, std::string_view prompt, int block_tokens) {
  request.prompt_tokens = text_tokens(prompt);
  const auto block = static_cast<std::size_t>(block_tokens * text_bytes_per_token);
  Fingerprint all_before;
  for (std::size_t end = block; end <= prompt.size(); end += block) {
    request.prefix_hashes.push_back(all_before.add(prompt.substr(end - block, block)).value());
  }
}

void take_ids(CompletionRequest& request, const ValueArray& ids, int block_tokens) {
  if (ids.empty()) throw bad_request("prompt: must not be empty");
  request.prompt_tokens = static_cast<std::int64_t>(ids.size());
  Fingerprint all_before;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto* id = std::get_if<std::int64_t>(&ids[i].data);
    if (id == nullptr) throw bad_request(fmt::format("prompt: token {} is not an integer", i));
    all_before.add(static_cast<std::uint64_t>(*id));
    if ((i + 1) % static_cast<std::size_t>(block_tokens) == 0)
      request.prefix_hashes.push_back(all_before.value());
  }
}

/// A string, token ids, or a list of one of them.
void take_prompt(CompletionRequest& request, const Value& prompt, int block_tokens) {
  if (prompt.is_string()) {
    return take_text(request, std::get<std::string>(prompt.data), block_tokens);
  }
  const auto* list = std::get_if<ValueArray>(&prompt.data);
  if (list == nullptr) throw bad_request("prompt: must be a string or a list of token ids");
  const bool is_batch = !list->empty() && (list->front().is_string() || list->front().is_array());
  if (!is_batch) return take_ids(request, *list, block_tokens);
  if (list->size() > 1) {
    throw bad_request("prompt: one request takes one prompt; send several separately");
  }
  take_prompt(request, list->front(), block_tokens);
}

RenderedChat chat_of(const Value& body) {
  try {
    return rendered_chat(body);
  } catch (const BadPrompt& bad) {
    throw bad_request(bad.what());
  }
}

/// A prompt's text tokens with images among them: what each token stands for, so that blocks of
/// prompts that begin alike, images too, have the same hashes.
class PromptWithImages {
 public:
  PromptWithImages(const RenderedChat& chat, const MediaEncoder& encoder) : text_(chat.text) {
    for (const ChatImage& sent : chat.images) {
      const auto text_before = static_cast<std::int64_t>(sent.text_before);
      const auto& [width, height] = sent.image.size;
      const std::int64_t first =
          (text_before + text_bytes_per_token - 1) / text_bytes_per_token + image_tokens_;
      images_.push_back({sent.image.identity, first, encoder.patches_of(width, height)});
      image_tokens_ += images_.back().patches.tokens;
    }
  }

  [[nodiscard]] const std::vector<MediaItem>& images() const { return images_; }
  [[nodiscard]] std::int64_t tokens() const { return text_tokens(text_) + image_tokens_; }

  [[nodiscard]] std::vector<std::uint64_t> hashes(std::int64_t block_tokens) const {
    std::vector<std::uint64_t> found;
    Fingerprint all_before;
    for (std::int64_t end = block_tokens; end <= tokens(); end += block_tokens) {
      add(all_before, end - block_tokens, end);
      found.push_back(all_before.value());
    }
    return found;
  }

 private:
  /// Tokens `from` to `end`, each stretch of text and each image's part for itself.
  void add(Fingerprint& all_before, std::int64_t from, std::int64_t end) const {
    std::int64_t of_images = 0;  // tokens of images before `from`
    for (const MediaItem& image : images_) {
      if (from >= end) return;
      add_text(all_before, from - of_images, std::min(end, image.first_token) - of_images);
      from = std::max(from, std::min(end, image.first_token));
      const std::int64_t shown = std::min(end, image.end());
      if (from < shown) {
        all_before.add(image.identity).add(static_cast<std::uint64_t>(shown - image.first_token));
        from = shown;
      }
      of_images += image.patches.tokens;
    }
    add_text(all_before, from - of_images, end - of_images);
  }

  void add_text(Fingerprint& all_before, std::int64_t from, std::int64_t end) const {
    if (from >= end) return;
    const auto begin = static_cast<std::size_t>(from * text_bytes_per_token);
    const auto bytes = static_cast<std::size_t>((end - from) * text_bytes_per_token);
    all_before.add(std::string_view(text_).substr(std::min(begin, text_.size()), bytes));
  }

  std::string text_;
  std::vector<MediaItem> images_;
  std::int64_t image_tokens_ = 0;
};

void take_chat(CompletionRequest& request, const RenderedChat& chat, const PromptCut& cut) {
  if (chat.images.empty()) return take_text(request, chat.text, cut.block_tokens);
  if (!cut.encoder) throw bad_request(cut.no_images);
  const PromptWithImages prompt(chat, *cut.encoder);
  request.prompt_tokens = prompt.tokens();
  request.prefix_hashes = prompt.hashes(cut.block_tokens);
  request.images = prompt.images();
  for (const ChatImage& sent : chat.images) request.image_sizes.push_back(sent.image.size);
}

std::vector<std::string> stop_strings(const Value& body) {
  const Value* stop = body.find("stop");
  if (stop == nullptr) return {};
  std::vector<std::string> strings;
  if (const auto* list = std::get_if<ValueArray>(&stop->data)) {
    for (const Value& each : *list) strings.push_back(text(each, "stop"));
  } else {
    strings.push_back(text(*stop, "stop"));
  }
  const bool is_too_long =
      std::ranges::any_of(strings, [](const auto& each) { return each.size() > stop_bytes_max; });
  if (strings.size() > stop_strings_max || is_too_long) {
    throw bad_request(
        fmt::format("stop: at most {} strings of {} bytes", stop_strings_max, stop_bytes_max));
  }
  std::erase(strings, "");
  return strings;
}

void read_length(const Value& body, CompletionRequest& request) {
  request.tokens_max = whole_number(body, "max_completion_tokens", 1, tokens_asked_max);
  if (!request.tokens_max)
    request.tokens_max = whole_number(body, "max_tokens", 1, tokens_asked_max);
  request.tokens_min = whole_number(body, "min_tokens", 0, tokens_asked_max).value_or(0);
  if (request.tokens_max && request.tokens_min > *request.tokens_max) {
    throw bad_request("min_tokens: must not be greater than max_tokens");
  }
  request.ignores_eos = flag(body, "ignore_eos");
  request.stop = stop_strings(body);
}

}  // namespace

RequestRefused bad_request(const std::string& message) { return {400, "BadRequestError", message}; }

CompletionRequest read_completion(std::string_view body, bool is_chat, const PromptCutOf& cut_of) {
  Value root;
  try {
    root = parse_json(body, {"body", 1});
  } catch (const ConfigError& error) {
    throw bad_request(error.what());
  }
  if (!root.is_object()) throw bad_request("body: must be a JSON object");
  CompletionRequest request;
  request.is_chat = is_chat;
  if (const Value* model = root.find("model")) request.model = text(*model, "model");
  const PromptCut cut = cut_of(request.model);
  request.streams = flag(root, "stream");
  if (const Value* options = root.find("stream_options"); options != nullptr) {
    if (!options->is_object()) throw bad_request("stream_options: must be an object");
    request.wants_usage = flag(*options, "include_usage");
  }
  request.choices = static_cast<std::size_t>(whole_number(root, "n", 1, choices_max).value_or(1));
  if (whole_number(root, "best_of", 1, tokens_asked_max).value_or(1) > 1) {
    throw bad_request(
        "best_of: answers here have no probabilities to choose the best by; use n, which generates "
        "as many");
  }
  constexpr int priority_max = std::numeric_limits<int>::max();
  request.priority =
      static_cast<int>(whole_number(root, "priority", -priority_max, priority_max).value_or(0));
  read_length(root, request);
  const Value* ids = root.find("prompt_token_ids");
  const Value* prompt = ids != nullptr ? ids : root.find("prompt");
  if (ids != nullptr || (!is_chat && prompt != nullptr)) {
    take_prompt(request, *prompt, cut.block_tokens);
  } else if (is_chat) {
    take_chat(request, chat_of(root), cut);
  } else {
    throw bad_request("prompt: is missing; give a string or a list of token ids");
  }
  return request;
}

}  // namespace foretoken
