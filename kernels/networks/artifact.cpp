#include "kernels/networks/artifact.hpp"

#include <algorithm>
#include <cmath>

#include "hardware/known_part.hpp"
#include "kernels/networks/half_text.hpp"
#include "sim/base/json.hpp"
#include "sim/base/table_reader.hpp"

namespace foretoken {
namespace {

constexpr std::string_view artifact_format = "foretoken artifact 1";
std::vector<float> read_numbers(TableReader& table, std::string_view key, std::size_t count) {
  std::string text;
  table.require(key, text);
  auto numbers = decode_halves(text, count);
  if (!numbers) table.fail(key, fmt::format("must be base64 of {} half-precision numbers", count));
  return numbers.value_or(std::vector<float>(count));
}

NetworkLayer read_layer(const Value& value, Diagnostics& diagnostics) {
  TableReader table(value, diagnostics, "layer");
  NetworkLayer layer;
  table.require("inputs", layer.inputs);
  table.require("outputs", layer.outputs);
  const bool is_sound = layer.inputs > 0 && layer.inputs <= network_width_max &&
                        layer.outputs > 0 && layer.outputs <= network_width_max;
  table.expect("inputs", is_sound, "a layer's sizes must be from 1 to 512");
  if (!is_sound) return layer;
  const auto outputs = static_cast<std::size_t>(layer.outputs);
  layer.weights = read_numbers(table, "weights", outputs * static_cast<std::size_t>(layer.inputs));
  layer.bias = read_numbers(table, "bias", outputs);
  return layer;
}

FeatureScale read_feature(const Value& value, Diagnostics& diagnostics) {
  TableReader table(value, diagnostics, "feature");
  FeatureScale feature;
  double mean = 0, deviation = 1, low = 0, high = 0;
  table.require("name", feature.name);
  table.require("mean", mean);
  table.require("deviation", deviation);
  table.expect("deviation", deviation > 0, "must be above 0");
  table.require("low", low);
  table.require("high", high);
  table.expect("high", high >= low, "must be at least low");
  feature.mean = static_cast<float>(mean);
  feature.deviation = static_cast<float>(deviation);
  feature.low = static_cast<float>(low);
  feature.high = static_cast<float>(high);
  return feature;
}

/// The elements of an array, each through `read`; anything else than an array has none.
template <class Element>
std::vector<Element> read_array(const Value* value, Diagnostics& diagnostics,
                                Element (*read)(const Value&, Diagnostics&)) {
  std::vector<Element> elements;
  if (value == nullptr || !value->is_array()) return elements;
  for (const Value& element : std::get<ValueArray>(value->data)) {
    if (element.is_object()) elements.push_back(read(element, diagnostics));
  }
  return elements;
}

std::vector<NetworkLayer> read_layers(const Value& network, Diagnostics& diagnostics) {
  return read_array<NetworkLayer>(network.find("layers"), diagnostics, read_layer);
}

bool chains(const std::vector<NetworkLayer>& layers, std::size_t inputs) {
  for (const NetworkLayer& layer : layers) {
    if (static_cast<std::size_t>(layer.inputs) != inputs) return false;
    inputs = static_cast<std::size_t>(layer.outputs);
  }
  return !layers.empty() && inputs == 1;
}

Ensemble read_ensemble(TableReader& table, const std::string& file, Diagnostics& diagnostics) {
  auto features = read_array<FeatureScale>(table.find("features"), diagnostics, read_feature);
  auto layers =
      read_array<std::vector<NetworkLayer>>(table.find("networks"), diagnostics, read_layers);
  diagnostics.throw_if_any();
  std::vector<Network> networks;
  for (auto& network : layers) {
    if (!chains(network, features.size())) {
      throw ConfigError({file}, "the layers of a network do not fit each other or the features");
    }
    networks.emplace_back(std::move(network));
  }
  if (networks.empty() || networks.size() > networks_max) {
    throw ConfigError({file},
                      fmt::format("networks: must hold from 1 to {} networks", networks_max));
  }
  return {std::move(features), std::move(networks)};
}

std::map<std::string, double> read_by_gpu(const Value* value) {
  std::map<std::string, double> shares;
  if (value == nullptr || !value->is_object()) return shares;
  for (const auto& [gpu, share] : std::get<ValueObject>(value->data)) {
    if (const auto* number = std::get_if<double>(&share.data)) shares[gpu] = *number;
    if (const auto* whole = std::get_if<std::int64_t>(&share.data)) {
      shares[gpu] = static_cast<double>(*whole);
    }
  }
  return shares;
}

double rounded_error(double error) { return std::round(error * 1e5) / 1e5; }

Value by_gpu_value(const std::map<std::string, double>& shares) {
  ValueObject object;
  for (const auto& [gpu, share] : shares) object.emplace_back(gpu, rounded_error(share));
  return object;
}

Value feature_value(const FeatureScale& feature) {
  // As text of the float's own digits: a double would print nine digits of noise.
  const auto shortest = [](float number) { return std::stod(fmt::format("{}", number)); };
  return ValueObject{{"name", feature.name},
                     {"mean", shortest(feature.mean)},
                     {"deviation", shortest(feature.deviation)},
                     {"low", shortest(feature.low)},
                     {"high", shortest(feature.high)}};
}

Value network_value(const Network& network) {
  ValueArray layers;
  for (const NetworkLayer& layer : network.layers()) {
    layers.emplace_back(ValueObject{{"inputs", layer.inputs},
                                    {"outputs", layer.outputs},
                                    {"weights", encode_halves(layer.weights)},
                                    {"bias", encode_halves(layer.bias)}});
  }
  return ValueObject{{"layers", std::move(layers)}};
}

constexpr double unseen_generation_share = 0.2;
/// Of the rows: fewer (a few hundred RTX 4090 launches among 60,000) teach a network little.
constexpr double generation_rows_min = 0.05;

/// Of built-in GPUs by name; 0 for others.
int compute_capability_of(const std::string& gpu) {
  static std::map<std::string, int> known;  // a memo: answers are the same without it
  const auto found = known.find(gpu);
  if (found != known.end()) return found->second;
  const auto names = gpu_names();
  const bool is_built_in = std::ranges::find(names, gpu) != names.end();
  return known[gpu] = is_built_in ? load_gpu(gpu, {"artifact"}).compute_capability : 0;
}

/// Rows by compute capability, from "rows_by_source": {"h100-sxm: vllm ...": 6000, ...}; all alike
/// where the file does not say.
std::map<int, double> rows_by_generation(const std::vector<std::string>& gpus,
                                         const Value& provenance) {
  std::map<int, double> rows;
  const Value* by_source = provenance.is_object() ? provenance.find("rows_by_source") : nullptr;
  if (by_source == nullptr || !by_source->is_object()) {
    for (const std::string& gpu : gpus) rows[compute_capability_of(gpu)] += 1;
    return rows;
  }
  for (const auto& [name, count] : std::get<ValueObject>(by_source->data)) {
    const auto* number = std::get_if<std::int64_t>(&count.data);
    if (number == nullptr) continue;
    rows[compute_capability_of(name.substr(0, name.find(':')))] += static_cast<double>(*number);
  }
  return rows;
}

}  // namespace

std::vector<int> trained_generations(const std::vector<std::string>& gpus,
                                     const Value& provenance) {
  const auto rows = rows_by_generation(gpus, provenance);
  double all = 0;
  for (const auto& [generation, count] : rows) all += count;
  std::vector<int> generations;
  for (const auto& [generation, count] : rows) {
    if (generation > 0 && count >= generation_rows_min * all) generations.push_back(generation);
  }
  return generations;
}

double Artifact::network_share(const GpuSpec& gpu) const {
  if (head != Head::log_ratio) return 1;
  const bool is_known = std::ranges::find(gpus, gpu.name) != gpus.end() ||
                        std::ranges::any_of(generations, [&](int generation) {
                          return same_generation(generation, gpu.compute_capability);
                        });
  return is_known ? 1 : unseen_generation_share;
}

Artifact read_artifact(std::string_view text, const std::string& file) {
  const Value root = parse_json(text, {file});
  if (!root.is_object()) throw ConfigError({file}, "must be a JSON object");
  Diagnostics diagnostics;
  TableReader table(root, diagnostics, "");
  std::string format, family;
  int version = 0;
  table.require("format", format);
  table.expect("format", format == artifact_format,
               fmt::format("must be '{}'; train it again with this version", artifact_format));
  table.require("family", family);
  table.require("version", version);
  diagnostics.throw_if_any();
  std::vector<std::string> gpus;
  double error_seen = 0, error_unseen_gpu = 0, quantile = 0;
  table.require("gpus", gpus);
  table.require("error_seen", error_seen);
  table.read("error_unseen_gpu", error_unseen_gpu);
  table.read("quantile", quantile);
  table.expect("quantile", quantile >= 0 && quantile < 1, "must be from 0 (none) to below 1");
  Head head = Head::log_ratio;
  table.read("head", head);
  const Value* provenance = table.find("provenance");
  Artifact artifact{std::move(family),
                    version,
                    provenance != nullptr ? *provenance : Value(),
                    std::move(gpus),
                    error_seen,
                    error_unseen_gpu,
                    read_by_gpu(table.find("error_by_gpu")),
                    read_ensemble(table, file, diagnostics),
                    head,
                    {},
                    quantile,
                    read_by_gpu(table.find("coverage"))};
  diagnostics.throw_if_any();
  artifact.generations = trained_generations(artifact.gpus, artifact.provenance);
  return artifact;
}

std::string write_artifact(const Artifact& artifact) {
  ValueArray features, networks, gpus;
  for (const FeatureScale& feature : artifact.ensemble.features()) {
    features.push_back(feature_value(feature));
  }
  for (const Network& network : artifact.ensemble.networks()) {
    networks.push_back(network_value(network));
  }
  for (const std::string& gpu : artifact.gpus) gpus.emplace_back(gpu);
  ValueObject file{{"format", std::string(artifact_format)},
                   {"family", artifact.family},
                   {"version", artifact.version},
                   {"head", std::string(enum_name(artifact.head))},
                   {"provenance", artifact.provenance},
                   {"gpus", std::move(gpus)},
                   {"error_seen", rounded_error(artifact.error_seen)},
                   {"error_unseen_gpu", rounded_error(artifact.error_unseen_gpu)},
                   {"error_by_gpu", by_gpu_value(artifact.error_by_gpu)}};
  if (artifact.quantile > 0) {
    file.emplace_back("quantile", artifact.quantile);
    file.emplace_back("coverage", by_gpu_value(artifact.coverage));
  }
  file.emplace_back("features", std::move(features));
  file.emplace_back("networks", std::move(networks));
  return to_json(Value(std::move(file)), 1) + "\n";
}

}  // namespace foretoken
