// Rules that hold for a model wherever it is described: what the TOML reader and the Hugging Face
// importer share. Internal to this room.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

#include "models/transformer.hpp"
#include "sim/base/table_reader.hpp"

namespace foretoken {

/// Largest values that are believed: tens of times those of any model of 2025. With
/// check_parameter_limit they keep every count within 64 bits and a double's 53.
inline constexpr std::int64_t layers_limit = 10'000;
inline constexpr std::int64_t width_limit = 4'000'000;  // hidden, MLP, expert
inline constexpr std::int64_t heads_limit = 10'000;
inline constexpr std::int64_t head_dim_limit = 10'000;
inline constexpr std::int64_t vocabulary_limit = 64'000'000;
inline constexpr std::int64_t context_limit = 2'000'000'000;
inline constexpr std::int64_t experts_limit = 100'000;
inline constexpr std::int64_t streams_limit = 1000;  // of hyper-connections
inline constexpr double parameters_limit = 1e15;

/// Reads `key` into `out` if it is there; a value outside [minimum, maximum] is a mistake and
/// leaves `out` as it was.
template <class Integer>
bool read_within(TableReader& table, std::string_view key, Integer& out, std::int64_t minimum,
                 std::int64_t maximum) {
  std::int64_t value = 0;
  if (!table.read(key, value)) return false;
  if (value < minimum || value > maximum) {
    return table.fail(key, fmt::format("must be from {} to {}, not {}", minimum, maximum, value));
  }
  out = static_cast<Integer>(value);
  return true;
}

/// As read_within from 1 up, and a missing key is a mistake.
template <class Integer>
bool require_count(TableReader& table, std::string_view key, Integer& out, std::int64_t maximum) {
  std::int64_t value = 0;
  if (table.find(key) == nullptr) return table.require(key, value);  // reports that it is missing
  return read_within(table, key, out, 1, maximum);
}

/// Groups of experts and how many of them a token's are from; `moe` says how many experts there are
/// and how many a token takes.
void read_expert_groups(TableReader& table, std::string_view count_key, std::string_view chosen_key,
                        MoeConfig& moe);

/// Parameters of an encoder but its biases and norms, for sizes that may be beyond what is
/// believed.
double parameters_about(const MediaEncoder& vision);

/// Adds a diagnostic at `position` if the model, whose members are within the limits above, has
/// more parameters in all than parameters_limit.
void check_parameter_limit(const Transformer& model, const SourcePosition& position,
                           Diagnostics& diagnostics);

/// Reports a model none of whose layers has attention: nothing here serves one.
void expect_attention(const Transformer& model, const SourcePosition& position,
                      Diagnostics& diagnostics);

/// Whether any layer has a dense MLP: all without experts, else those that dense_layers and step
/// leave out.
bool has_dense_layers(const Transformer& model);

/// The shortest pattern that gives the same to every layer.
template <class Item>
std::vector<Item> shortest_repeat(std::vector<Item> by_layer) {
  for (std::size_t period = 1; period < by_layer.size(); ++period) {
    if (std::equal(by_layer.begin() + static_cast<std::ptrdiff_t>(period), by_layer.end(),
                   by_layer.begin())) {
      by_layer.resize(period);
      break;
    }
  }
  return by_layer;
}
/// The same of windows; {} if all attention is full.
std::vector<std::int64_t> shortest_pattern(std::vector<std::int64_t> window_by_layer);

/// Lower-case letters, digits, '-', '_' and '.', and neither a path nor the name of a file.
bool is_model_name(std::string_view text);

}  // namespace foretoken
