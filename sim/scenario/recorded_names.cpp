#include "sim/scenario/recorded_names.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

#include "hardware/gpu.hpp"
#include "models/transformer.hpp"
#include "sim/base/nearest_name.hpp"

namespace foretoken {
namespace {

/// Runs of letters and digits, in lower case; "3.1" stays together.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.') {
      words.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

/// What publishers append to a model's name without changing its layers.
constexpr auto model_endings = std::to_array<std::string_view>(
    {"instruct", "chat", "base", "it", "hf", "fp8", "bf16", "fp4", "nvfp4", "mxfp4", "awq", "gptq",
     "dynamic", "thinking", "2507"});

bool has(const std::vector<std::string>& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

}  // namespace

std::string model_called(const std::string& hugging_face_id, const SourcePosition& asked_at) {
  std::vector<std::string> words =
      words_of(std::string_view(hugging_face_id).substr(hugging_face_id.rfind('/') + 1));
  if (words.size() > 1 && words[0] == "meta" && words[1] == "llama") words.erase(words.begin());
  while (words.size() > 1 && std::ranges::find(model_endings, words.back()) != model_endings.end()) {
    words.pop_back();
  }
  const std::vector<std::string> known = model_names();
  for (const std::string& name : known) {
    if (words_of(name) == words) return name;
  }
  const std::vector<std::string_view> names(known.begin(), known.end());
  throw ConfigError(asked_at, unknown_name_message("model", fmt::format("{}", fmt::join(words, "-")),
                                                   names) +
                                  "; name one of these, or a config.json, with --model");
}

std::string gpu_called(const std::string& device_name, const SourcePosition& asked_at) {
  const std::vector<std::string> words = words_of(device_name);
  // Words of form factor are often left out of a device's name, and SXM4 is spelled with its number.
  const auto is_form = [](std::string_view word) { return word == "sxm" || word == "pcie"; };
  const auto says = [&](std::string_view word) {
    return has(words, word) || (word == "sxm" && std::ranges::any_of(words, [](const auto& said) {
                                  return said.starts_with("sxm");
                                }));
  };
  std::vector<std::string> whole, formless;
  std::size_t most = 0;
  for (const std::string& name : gpu_names()) {
    const std::vector<std::string> parts = words_of(name);
    if (!std::ranges::all_of(parts, [&](const auto& part) { return says(part) || is_form(part); })) {
      continue;
    }
    if (!std::ranges::all_of(parts, says)) {
      formless.push_back(name);
    } else if (parts.size() >= most) {
      if (parts.size() > most) whole.clear();
      most = parts.size();
      whole.push_back(name);
    }
  }
  const std::vector<std::string>& found = whole.empty() ? formless : whole;
  if (found.size() == 1) return found.front();
  if (found.empty()) {
    throw ConfigError(asked_at, fmt::format("no built-in GPU is called \"{}\"; name the cluster "
                                            "with --cluster, or a TOML file (`foretoken gpu list` "
                                            "lists the built-in ones)",
                                            device_name));
  }
  throw ConfigError(asked_at, fmt::format("\"{}\" may be {}; say which with --cluster",
                                          device_name, fmt::join(found, " or ")));
}

}  // namespace foretoken
