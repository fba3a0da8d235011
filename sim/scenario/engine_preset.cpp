#include "sim/scenario/engine_preset.hpp"

#include <algorithm>
#include <cctype>
#include <cstdint>

#include "kernels/communication/engine_all_reduce.hpp"
#include "sim/base/nearest_name.hpp"

namespace foretoken {
namespace {

/// Flags spell names in capitals or with dashes here and there (GUARANTEED_NO_EVICT).
Value in_our_spelling(const Value& value) {
  if (!value.is_string()) return value;
  std::string text = std::get<std::string>(value.data);
  std::ranges::transform(text, text.begin(), [](unsigned char c) {
    return c == '-' ? '_' : static_cast<char>(std::tolower(c));
  });
  Value spelt(std::move(text));
  spelt.position = value.position;
  return spelt;
}

}  // namespace

namespace {

/// Of a text or a whole number.
std::string text_of(const Value& value) {
  const auto* count = std::get_if<std::int64_t>(&value.data);
  if (count != nullptr) return std::to_string(*count);
  return value.is_string() ? std::get<std::string>(value.data) : "";
}

Value scaled(const Value& value, double factor) {
  Value out = value;
  if (const auto* count = std::get_if<std::int64_t>(&value.data))
    out.data = static_cast<double>(*count) * factor;
  if (const auto* number = std::get_if<double>(&value.data)) out.data = *number * factor;
  return out;
}

}  // namespace

Value AttentionShare::of(const Value& whole, int ranks) const {
  if (ranks < 2 || is_whole()) return whole;
  if (!divides) return scaled(whole, times);
  Value part = whole;  // -1 stands for no limit and stays
  if (auto* count = std::get_if<std::int64_t>(&part.data); count != nullptr && *count > 0)
    *count /= ranks;
  return part;
}

Value AttentionShare::whole_of(const Value& part, int ranks) const {
  if (ranks < 2 || is_whole()) return part;
  if (!divides) return scaled(part, 1 / times);
  Value whole = part;
  if (auto* count = std::get_if<std::int64_t>(&whole.data); count != nullptr && *count > 0)
    *count *= ranks;
  return whole;
}

std::optional<Value> EngineFlag::value_here(const Value& value, int attention_ranks,
                                            std::string& problem) const {
  Value here = in_our_spelling(value);
  if (std::ranges::find(unset, text_of(here)) != unset.end()) return std::nullopt;
  if (is_negated || when_true) {
    const bool* is_set = std::get_if<bool>(&value.data);
    if (is_set == nullptr) {
      problem = fmt::format("must be true or false, not {}", type_name(value));
      return std::nullopt;
    }
    if (when_true && !*is_set) return std::nullopt;
    here.data = when_true ? when_true->data : !*is_set;
    return here;
  }
  if (values.empty()) {
    here = share.of(here, attention_ranks);
    const auto* given = std::get_if<std::int64_t>(&value.data);
    if (share.divides && given != nullptr && *given > 0 && *given < attention_ranks) {
      problem = fmt::format("is divided among {} attention ranks, but {} is less than one for each",
                            attention_ranks, *given);
      return std::nullopt;
    }
    return here;
  }
  std::vector<std::string_view> known;
  for (const auto& [there, ours] : values) {
    if (here.is_string() && std::get<std::string>(here.data) == there) {
      here.data = ours;
      return here;
    }
    known.push_back(there);
  }
  const std::string text =
      here.is_string() ? std::get<std::string>(here.data) : std::string(type_name(value));
  problem = unknown_name_message("value", text, known);
  return std::nullopt;
}

bool PresetGroup::holds(const PresetPlace& place, std::string_view version) const {
  const GpuSpec& gpu = place.gpu;
  const ParallelLayout& layout = place.layout;
  return gpu.memory_capacity >= memory_at_least &&
         (memory_below <= Bytes(0.0) || gpu.memory_capacity < memory_below) &&
         (gpu_is_not.empty() || gpu.name.find(gpu_is_not) == std::string::npos) &&
         gpu.compute_capability >= compute_at_least &&
         (compute_below == 0 || gpu.compute_capability < compute_below) &&
         layout.tensor >= tensor_parallel_at_least &&
         layout.pipeline >= pipeline_parallel_at_least &&
         layout.stage_ranks() >= stage_ranks_at_least && (!needs_speculation || place.speculates) &&
         (!needs_cached_states || (place.has_states && place.caches_prefixes)) &&
         (version_at_least.empty() || !is_older(version, version_at_least)) &&
         (version_before.empty() || is_older(version, version_before));
}

std::string PresetGroup::condition() const {
  std::vector<std::string> parts;
  if (memory_at_least > Bytes(0.0)) parts.push_back("from " + readable(memory_at_least));
  if (memory_below > Bytes(0.0)) parts.push_back("below " + readable(memory_below));
  if (!gpu_is_not.empty()) parts.push_back("not " + gpu_is_not);
  for (const auto& [words, bound] :
       {std::pair("from", compute_at_least), {"below", compute_below}}) {
    if (bound > 0)
      parts.push_back(fmt::format("compute capability {} {}.{}", words, bound / 10, bound % 10));
  }
  if (tensor_parallel_at_least > 0) {
    parts.push_back(fmt::format("tensor parallel from {}", tensor_parallel_at_least));
  }
  if (pipeline_parallel_at_least > 0) {
    parts.push_back(fmt::format("pipeline parallel from {}", pipeline_parallel_at_least));
  }
  if (stage_ranks_at_least > 0)
    parts.push_back(fmt::format("GPUs a stage from {}", stage_ranks_at_least));
  if (needs_speculation) parts.emplace_back("with speculative decoding");
  if (needs_cached_states) parts.emplace_back("with cached states of recurrences");
  if (!version_at_least.empty()) parts.push_back("version from " + version_at_least);
  if (!version_before.empty()) parts.push_back("version before " + version_before);
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::optional<Framework> EnginePreset::framework() const {
  const std::vector<PresetSetting>& everywhere = groups.front().settings;
  const auto found = std::ranges::find(everywhere, "framework", &PresetSetting::key);
  const auto* name =
      found == everywhere.end() ? nullptr : std::get_if<std::string>(&found->value.data);
  return name == nullptr ? std::nullopt : parse_enum<Framework>(*name);
}

std::vector<PresetSetting> EnginePreset::settings(const PresetPlace& place) const {
  std::vector<PresetSetting> chosen;
  for (const PresetGroup& group : groups) {
    if (!group.holds(place, version)) continue;
    for (const PresetSetting& setting : group.settings) {
      const auto earlier = std::ranges::find(chosen, setting.key, &PresetSetting::key);
      if (earlier == chosen.end()) {
        chosen.push_back(setting);
      } else {
        *earlier = setting;
      }
    }
  }
  for (PresetSetting& setting : chosen) {
    setting.value = setting.share.of(setting.value, place.layout.data_parallel_attention);
    auto* tokens = std::get_if<std::int64_t>(&setting.value.data);
    if (setting.holds_prompts && !place.chunks_prompts && tokens != nullptr)
      *tokens = std::max(*tokens, place.context);
  }
  return chosen;
}

namespace {

/// As many of a version's numbers as `like` has: "0.32" of "0.32.1" where that is "0.19".
std::string shortened(const std::string& version, std::string_view like) {
  std::size_t end = 0;
  for (auto dots = std::ranges::count(like, '.'); end < version.size(); ++end) {
    if (version[end] == '.' && dots-- == 0) break;
  }
  return version.substr(0, end);
}

bool is_version(const std::string& text) {
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text[0])) != 0;
}

}  // namespace

std::string EnginePreset::nearest_version(const std::string& wanted) const {
  if (!is_version(wanted)) return "";
  if (!oldest.empty() && is_older(wanted, oldest)) return oldest;
  if (!newest.empty() && is_older(newest, shortened(wanted, newest))) return newest;
  return wanted;
}

EnginePreset EnginePreset::of_version(const std::string& wanted,
                                      const SourcePosition& asked_at) const {
  EnginePreset preset = *this;
  if (wanted.empty()) return preset;
  if (!is_version(wanted))
    throw ConfigError(
        asked_at, fmt::format("\"{}\" is not a version; write it like \"{}\"", wanted, version));
  if (const std::string nearest = nearest_version(wanted); nearest != wanted) {
    throw ConfigError(
        asked_at, fmt::format("the preset {} describes {} {} to {}, not {}; the nearest is \"{}\"",
                              name, product, oldest, newest, wanted, nearest));
  }
  preset.version = wanted;
  return preset;
}

const EngineFlag* EnginePreset::find_flag(std::string_view flag) const {
  const auto found = std::ranges::find(flags, flag, &EngineFlag::name);
  return found == flags.end() ? nullptr : &*found;
}

}  // namespace foretoken
