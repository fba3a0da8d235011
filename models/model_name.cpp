#include "models/model_name.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "sim/base/nearest_name.hpp"
#include "sim/base/words.hpp"

namespace foretoken {
namespace {

/// What publishers append to a model's name without changing its layers.
constexpr auto endings = std::to_array<std::string_view>(
    {"instruct", "chat", "base", "it",    "hf",       "dynamic",  "thinking",
     "2507",     "0324", "0528", "0905",  "0711",     "0924",     "v0.1",
     "v1",       "v2",   "bf16", "turbo", "terminus", "speciale", "preview"});

/// Endings that name the format of the weights.
struct FormatEnding {
  std::string_view word;
  DType dtype;
};
constexpr auto format_endings = std::to_array<FormatEnding>({{"fp8", DType::fp8},
                                                             {"fp4", DType::nvfp4},
                                                             {"nvfp4", DType::nvfp4},
                                                             {"mxfp4", DType::mxfp4},
                                                             {"awq", DType::w4a16},
                                                             {"gptq", DType::w4a16},
                                                             {"int4", DType::w4a16},
                                                             {"w4a16", DType::w4a16},
                                                             {"w8a16", DType::w8a16},
                                                             {"w8a8", DType::int8}});

/// Releases with the layers of another, by the words of their names.
struct SameLayers {
  std::string_view name, built_in;
};
constexpr auto same_layers =
    std::to_array<SameLayers>({{"llama-3.3-70b", "llama-3.1-70b"},
                               {"llama-3-70b", "llama-3.1-70b"},
                               {"llama-3-8b", "llama-3.1-8b"},
                               {"llama-3.1-nemotron-70b", "llama-3.1-70b"},
                               {"deepseek-v3.1", "deepseek-v3"},
                               {"deepseek-v3-base", "deepseek-v3"},
                               {"deepseek-v3.2-exp", "deepseek-v3.2"},
                               {"kimi-k2-thinking", "kimi-k2.5"},  // 4-bit experts as well
                               {"kimi-k2.6", "kimi-k2.5"},
                               {"kimi-k2.7", "kimi-k2.5"},
                               {"kimi-k2.7-code", "kimi-k2.5"},
                               {"minimax-m2", "minimax-m2.5"},
                               {"minimax-m2.1", "minimax-m2.5"},
                               {"minimax-m2.7", "minimax-m2.5"},
                               {"glm-4.6", "glm-4.5"},
                               {"glm-4.7", "glm-4.5"},
                               {"glm-5.1", "glm-5"},
                               {"llama-3-3-nemotron-super-49b", "nemotron-super-49b"},
                               {"llama-3-3-nemotron-super-49b-v1-5", "nemotron-super-49b"}});

std::string joined(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, "-"));
}

/// The words of a name without organisation and Meta's own prefix.
std::vector<std::string> own_words(std::string_view text) {
  std::vector<std::string> words = words_of(text.substr(text.rfind('/') + 1));
  const bool repeats_maker = words.size() > 1 && ((words[0] == "meta" && words[1] == "llama") ||
                                                  (words[0] == "nvidia" && words[1] == "nemotron"));
  if (repeats_maker) words.erase(words.begin());
  return words;
}

/// The built-in model with these words, or "".
std::string built_in(const std::vector<std::string>& words) {
  const std::string name = joined(words);
  const auto same = std::ranges::find(same_layers, name, &SameLayers::name);
  if (same != same_layers.end()) return std::string(same->built_in);
  for (const std::string& known : model_names()) {
    if (words_of(known) == words) return known;
  }
  return "";
}

/// Takes an ending off `words`; false where there is none.
bool strip(std::vector<std::string>& words, std::optional<DType>& released) {
  if (words.size() < 2) return false;
  const std::string& last = words.back();
  const auto format = std::ranges::find(format_endings, last, &FormatEnding::word);
  if (format != format_endings.end()) {
    released = released.value_or(format->dtype);  // "AWQ-INT4" says it twice
  } else if (std::ranges::find(endings, last) == endings.end()) {
    return false;
  }
  words.pop_back();
  return true;
}

}  // namespace

bool is_model_id(std::string_view text) {
  const auto slash = text.find('/');
  if (slash == std::string_view::npos || slash == 0 || slash + 1 == text.size()) return false;
  const std::string_view organisation = text.substr(0, slash);
  return text.find('/', slash + 1) == std::string_view::npos && !organisation.starts_with('.') &&
         !text.ends_with(".toml") && !text.ends_with(".json");
}

std::optional<DType> model_format_in(std::string_view text) {
  for (const std::string& word : own_words(text)) {
    const auto format = std::ranges::find(format_endings, word, &FormatEnding::word);
    if (format != format_endings.end()) return format->dtype;
  }
  return std::nullopt;
}

std::optional<NamedModel> model_named(std::string_view text) {
  std::vector<std::string> words = own_words(text);
  NamedModel named;
  do {
    named.name = built_in(words);
  } while (named.name.empty() && strip(words, named.released));
  if (named.name.empty()) return std::nullopt;
  // Qwen's own fp8 has a scale a block; most others' a scale a channel.
  const bool is_qwen = named.name.starts_with("qwen");
  if (is_qwen && named.released == DType::fp8) named.released = DType::fp8_block;
  return named;
}

std::string unknown_model_message(std::string_view text) {
  const std::vector<std::string> names = model_names();
  const std::vector<std::string_view> known(names.begin(), names.end());
  if (text.find('/') == std::string_view::npos) return unknown_name_message("model", text, known);
  std::vector<std::string> words = own_words(text);
  std::optional<DType> unused;
  while (strip(words, unused)) {
  }
  const std::string_view nearest = nearest_name(joined(words), known);
  return fmt::format(
      "no built-in model is called '{}'; {}ownload its config.json and give that "
      "file's path (`foretoken model list` has the built-in ones)",
      text, nearest.empty() ? "d" : fmt::format("did you mean '{}'? Else d", nearest));
}

}  // namespace foretoken
