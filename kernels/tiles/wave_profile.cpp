// The profile's file: tiles as rows of integers, constants as single-precision numbers in base 10
// (7 digits), one array a configuration.
#include "kernels/tiles/wave_profile.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "sim/base/embedded.hpp"
#include "sim/base/json.hpp"

namespace foretoken {

std::span<const EmbeddedFile> embedded_wave_profiles();

namespace {

constexpr std::string_view wave_profile_format = "foretoken wave profile 2";
constexpr std::size_t tile_numbers = 7;

DType profiled_dtype(DType dtype) { return dtype == DType::fp16 ? DType::bf16 : dtype; }

/// To seven digits, which is more than measurements are worth and a third of the file's size.
double short_number(double value) {
  return value == 0 ? 0 : std::stod(fmt::format("{:.6e}", value));
}

Value constants_value(const std::vector<WaveConstants>& all) {
  ValueArray rows;
  for (const WaveConstants& constants : all) {
    ValueArray row{constants.tile};
    for (const double us : constants.us) row.emplace_back(short_number(us));
    rows.emplace_back(std::move(row));
  }
  return rows;
}

const Value& profile_member(const Value& object, std::string_view key) {
  const Value* const found = object.is_object() ? object.find(key) : nullptr;
  if (found == nullptr) {
    throw ConfigError(object.position, fmt::format("a wave profile needs '{}'", key));
  }
  return *found;
}

double number_of(const Value& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value.data)) {
    return static_cast<double>(*integer);
  }
  if (const auto* number = std::get_if<double>(&value.data)) return *number;
  throw ConfigError(value.position, "a wave profile's arrays hold numbers");
}

int integer_of(const Value& value, int from, int to) {
  const double number = number_of(value);
  if (number != std::floor(number) || number < from || number > to) {
    throw ConfigError(value.position, fmt::format("must be an integer from {} to {}", from, to));
  }
  return static_cast<int>(number);
}

const std::string& text_of(const Value& value) {
  if (!value.is_string()) throw ConfigError(value.position, "must be a text");
  return std::get<std::string>(value.data);
}

/// An array of arrays of `width` each.
std::vector<const ValueArray*> rows_of(const Value& value, std::size_t width) {
  if (!value.is_array()) throw ConfigError(value.position, "must be an array");
  std::vector<const ValueArray*> rows;
  for (const Value& row : std::get<ValueArray>(value.data)) {
    const auto* const array = std::get_if<ValueArray>(&row.data);
    if (array == nullptr || array->size() != width) {
      throw ConfigError(row.position, fmt::format("must be an array of {}", width));
    }
    rows.push_back(array);
  }
  return rows;
}

std::vector<WaveConstants> read_constants(const Value& value, std::size_t tiles) {
  std::vector<WaveConstants> all;
  for (const ValueArray* row : rows_of(value, wave_term_count + 1)) {
    WaveConstants constants;
    constants.tile = integer_of(row->front(), 0, static_cast<int>(tiles) - 1);
    for (std::size_t i = 0; i < wave_term_count; ++i) constants.us[i] = number_of((*row)[i + 1]);
    all.push_back(constants);
  }
  if (all.empty()) throw ConfigError(value.position, "holds no configuration");
  return all;
}

Value numbers_value(std::span<const double> numbers) {
  ValueArray row;
  for (const double number : numbers) row.emplace_back(short_number(number));
  return row;
}

WaveResidual read_residual(const Value& layer, std::size_t contenders) {
  WaveResidual residual;
  for (const ValueArray* row : rows_of(profile_member(layer, "steps"), StepTraits().size())) {
    StepTraits& traits = residual.steps.emplace_back();
    for (std::size_t i = 0; i < traits.size(); ++i) traits[i] = number_of((*row)[i]);
  }
  const Value& weights = profile_member(layer, "weights");
  for (const ValueArray* row : rows_of(weights, residual.steps.size())) {
    std::vector<double>& mine = residual.weights.emplace_back();
    for (const Value& weight : *row) mine.push_back(number_of(weight));
  }
  if (residual.weights.size() != contenders) {
    throw ConfigError(weights.position, fmt::format("must be {} arrays, one a contender, not {}",
                                                    contenders, residual.weights.size()));
  }
  return residual;
}

LayerConstants read_layer(const Value& value, const WaveProfile& profile) {
  constexpr int size_max = 1 << 20;
  LayerConstants read;
  read.name = text_of(profile_member(value, "name"));
  read.layer = {integer_of(profile_member(value, "experts"), 1, size_max),
                integer_of(profile_member(value, "hidden"), 1, size_max),
                integer_of(profile_member(value, "intermediate"), 1, size_max), profile.dtype};
  read.contenders = read_constants(profile_member(value, "contenders"), profile.tiles.size());
  read.residual = read_residual(value, read.contenders.size());
  return read;
}

}  // namespace

const LayerConstants* WaveProfile::find(const MoeLayer& layer) const {
  MoeLayer asked = layer;
  asked.dtype = profiled_dtype(layer.dtype);
  const auto found = std::ranges::find(layers, asked, &LayerConstants::layer);
  return found == layers.end() ? nullptr : &*found;
}

std::string write_wave_profile(const WaveProfile& profile, const ValueObject& provenance) {
  ValueArray tiles;
  for (const MoeTile& tile : profile.tiles) {
    tiles.emplace_back(ValueArray{tile.block_m, tile.block_n, tile.block_k, tile.group_m,
                                  tile.split_k, tile.warps, tile.stages});
  }
  ValueArray terms;
  for (const std::string_view name : EnumNames<WaveTerm>::names) {
    terms.emplace_back(std::string(name));
  }
  ValueArray layers;
  for (const LayerConstants& layer : profile.layers) {
    ValueArray steps, weights;
    for (const StepTraits& traits : layer.residual.steps) steps.emplace_back(numbers_value(traits));
    for (const auto& mine : layer.residual.weights) weights.emplace_back(numbers_value(mine));
    layers.emplace_back(ValueObject{{"name", layer.name},
                                    {"experts", layer.layer.experts},
                                    {"hidden", layer.layer.hidden},
                                    {"intermediate", layer.layer.intermediate},
                                    {"contenders", constants_value(layer.contenders)},
                                    {"steps", std::move(steps)},
                                    {"weights", std::move(weights)}});
  }
  const Value root = ValueObject{{"format", std::string(wave_profile_format)},
                                 {"terms_version", wave_terms_version},
                                 {"provenance", provenance},
                                 {"gpu", profile.gpu},
                                 {"dtype", std::string(enum_name(profile.dtype))},
                                 {"error_layer", short_number(profile.error_layer)},
                                 {"error_any", short_number(profile.error_any)},
                                 {"terms", terms},
                                 {"tiles", tiles},
                                 {"any_layer", constants_value(profile.any_layer)},
                                 {"layers", layers}};
  return to_json(root, -1) + "\n";
}

WaveProfile read_wave_profile(const Value& root) {
  const Value& format = profile_member(root, "format");
  if (text_of(format) != wave_profile_format) {
    throw ConfigError(format.position, fmt::format("expected format '{}'", wave_profile_format));
  }
  const Value& version = profile_member(root, "terms_version");
  if (number_of(version) != wave_terms_version) {
    throw ConfigError(version.position,
                      fmt::format("made for other terms than version {}: fit it again with "
                                  "foretoken-calibrate fit wave",
                                  wave_terms_version));
  }
  WaveProfile profile;
  profile.gpu = text_of(profile_member(root, "gpu"));
  const Value& dtype = profile_member(root, "dtype");
  const auto parsed = parse_enum<DType>(text_of(dtype));
  if (!parsed) throw ConfigError(dtype.position, "is not a number format");
  profile.dtype = *parsed;
  profile.error_layer = number_of(profile_member(root, "error_layer"));
  profile.error_any = number_of(profile_member(root, "error_any"));
  for (const ValueArray* row : rows_of(profile_member(root, "tiles"), tile_numbers)) {
    const auto at = [&](std::size_t i) { return integer_of((*row)[i], 1, 1 << 12); };
    profile.tiles.push_back({at(0), at(1), at(2), at(3), at(4), at(5), at(6)});
  }
  profile.any_layer = read_constants(profile_member(root, "any_layer"), profile.tiles.size());
  const Value& layers = profile_member(root, "layers");
  if (!layers.is_array()) throw ConfigError(layers.position, "must be an array");
  for (const Value& layer : std::get<ValueArray>(layers.data)) {
    profile.layers.push_back(read_layer(layer, profile));
  }
  return profile;
}

const WaveProfile* find_wave_profile(const GpuSpec& gpu, DType dtype) {
  // A GPU from the user's own file may call itself what it likes: it was not measured.
  if (!gpu.file.empty()) return nullptr;
  static std::map<std::string, WaveProfile, std::less<>> profiles;
  const std::string name = fmt::format("{}_{}", gpu.name, enum_name(profiled_dtype(dtype)));
  if (const auto known = profiles.find(name); known != profiles.end()) return &known->second;
  const auto files = embedded_wave_profiles();
  const auto file = std::ranges::find(files, name, &EmbeddedFile::stem);
  if (file == files.end()) return nullptr;
  WaveProfile profile = read_wave_profile(parse_json(file->text, {name + ".json"}));
  return &profiles.emplace(name, std::move(profile)).first->second;
}

}  // namespace foretoken
