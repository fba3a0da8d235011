#include "hardware/gpu_name.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>

#include "hardware/gpu.hpp"
#include "hardware/spec_source.hpp"
#include "sim/base/words.hpp"

namespace foretoken {
namespace {

using Words = std::vector<std::string>;

/// Form factors; SXM4 and SXM5 are spelled with their number.
constexpr auto forms = std::to_array<std::string_view>({"sxm", "pcie", "nvl"});
/// Words of a spec's name that people leave out.
constexpr auto optional_words = std::to_array<std::string_view>({"rtx", "server"});

/// Words that names of devices have beside a model's own: makers, series, kinds of memory.
constexpr auto other_words = std::to_array<std::string_view>(
    {"nvidia",   "amd",         "tesla",      "geforce", "quadro", "instinct", "ampere", "ada",
     "lovelace", "hopper",      "blackwell",  "cdna3",   "cdna4",  "tensor",   "core",   "gpu",
     "graphics", "accelerator", "generation", "edition", "oam",    "hbm2",     "hbm2e",  "hbm3",
     "hbm3e",    "gddr6",       "gddr6x",     "gddr7",   "gb",     "gib"});

bool is_among(std::string_view word, std::span<const std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

std::string_view form_of(std::string_view word) {
  return word.starts_with("sxm") ? std::string_view("sxm") : word;
}

/// "80gb" or "80gib", or "80" before "gb": gigabytes of memory.
std::optional<double> memory_said(const Words& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    int size = 0;
    const auto [rest, error] =
        std::from_chars(words[i].data(), words[i].data() + words[i].size(), size);
    if (error != std::errc()) continue;
    std::string unit(rest, words[i].data() + words[i].size());
    if (unit.empty() && i + 1 < words.size()) unit = words[i + 1];
    if (unit == "gb" || unit == "gib") return size;
  }
  return std::nullopt;
}

bool has_memory(const std::string& gpu, double gigabytes) {
  // Marketing counts decimal or binary, and what the driver leaves is less.
  constexpr double tolerance = 0.12;
  const double own = load_gpu(gpu, {}).memory_capacity.value() / 1e9;
  return std::abs(own / gigabytes - 1) <= tolerance;
}

/// "80", "80gb" or "80gib".
bool is_memory(std::string_view word) {
  const std::string_view unit =
      word.substr(std::min(word.find_first_not_of("0123456789"), word.size()));
  return unit.size() < word.size() && (unit.empty() || unit == "gb" || unit == "gib");
}

/// Whether nothing is said that is neither a part of the name nor beside the point: "H100 SMX" is a
/// slip, and "RTX 4090 D" another product.
bool is_understood(std::string_view word, const Words& parts) {
  return std::ranges::find(parts, form_of(word)) != parts.end() || is_among(form_of(word), forms) ||
         is_among(word, other_words) || is_among(word, optional_words) || is_memory(word);
}

/// How `said` names `gpu`: not at all (0), without its form factor (1), or wholly (2).
int match(const Words& said, const std::string& gpu) {
  const auto says = [&](std::string_view word) {
    return std::ranges::any_of(said, [&](const auto& own) { return form_of(own) == word; });
  };
  const Words parts = words_of(gpu);
  if (!std::ranges::all_of(said, [&](const auto& word) { return is_understood(word, parts); })) {
    return 0;
  }
  bool is_whole = true, has_form = false, says_form = false;
  for (const std::string& part : parts) {
    const bool is_form = is_among(part, forms);
    has_form |= is_form;
    if (says(part) || is_among(part, optional_words)) continue;
    if (!is_form) return 0;
    is_whole = false;
  }
  for (const std::string_view form : forms) says_form |= says(form);
  if (has_form && says_form && !is_whole) return 0;  // "H100 PCIe" is not h100-sxm
  return is_whole ? 2 : 1;
}

}  // namespace

std::vector<std::string> gpus_called(std::string_view text) {
  const Words said = words_of(text);
  const std::optional<double> memory = memory_said(said);
  int best = 1;
  std::size_t most = 0;
  std::vector<std::string> found;
  for (const std::string& gpu : gpu_names()) {
    const int how = match(said, gpu);
    const std::size_t parts = words_of(gpu).size();
    if (how < best || (memory && !has_memory(gpu, *memory))) continue;
    // "RTX 6000 Ada" names a spec of as many words, not one of fewer.
    const bool is_better = how > best || (how == 2 && parts > most);
    if (is_better) found.clear();
    if (!is_better && how == 2 && parts < most) continue;
    best = how;
    most = how == 2 ? parts : 0;
    found.push_back(gpu);
  }
  return found;
}

std::string ambiguous_gpu_message(std::string_view text, const std::vector<std::string>& found) {
  return fmt::format("\"{}\" may be {}; specify which", text, fmt::join(found, " or "));
}

}  // namespace foretoken
