#include "kernels/adaptation.hpp"

#include <cmath>

#include "kernels/half_text.hpp"
#include "sim/base/error.hpp"
#include "sim/base/json.hpp"
#include "sim/base/table_reader.hpp"

namespace foretoken {
namespace {

constexpr std::string_view format_name = "foretoken adaptation 1";
/// Beyond this a file is damaged: adapting takes 25 to 100 launches of a family.
constexpr std::int64_t launches_max = 10'000, features_max = 512;

FamilyAdaptation read_family(const Value& value, Diagnostics& diagnostics) {
  TableReader table(value, diagnostics, "family");
  FamilyAdaptation family;
  std::int64_t launches = 0, features = 0;
  std::string points;
  table.require("family", family.family);
  table.require("version", family.version);
  table.require("offset", family.offset);
  table.require("length", family.length);
  table.expect("length", family.length > 0, "must be above 0");
  table.require("error", family.error);
  table.require("features", features);
  table.require("weights", family.weights);
  table.require("points", points);
  launches = static_cast<std::int64_t>(family.weights.size());
  const bool is_sound =
      features > 0 && features <= features_max && launches > 0 && launches <= launches_max;
  table.expect("features", is_sound, "launches and features are too few or too many");
  if (!is_sound) return family;
  family.features = static_cast<std::size_t>(features);
  auto numbers = decode_halves(points, family.features * family.weights.size());
  if (!numbers)
    table.fail("points", "must be base64 of launches x features half-precision numbers");
  family.points = numbers.value_or(std::vector<float>());
  return family;
}

}  // namespace

double FamilyAdaptation::correction(std::span<const float> scaled) const {
  FORETOKEN_CHECK(scaled.size() == features, "{} features instead of {}", scaled.size(), features);
  const double inverse = 1.0 / (2 * length * length);
  double sum = offset;
  for (std::size_t launch = 0; launch < weights.size(); ++launch) {
    float distance = 0;
    const float* point = points.data() + launch * features;
    for (std::size_t i = 0; i < features; ++i) {
      distance += (scaled[i] - point[i]) * (scaled[i] - point[i]);
    }
    sum += weights[launch] * std::exp(-inverse * static_cast<double>(distance));
  }
  return sum;
}

const FamilyAdaptation* Adaptation::find(std::string_view family, int version) const {
  for (const FamilyAdaptation& entry : families) {
    if (entry.family == family && entry.version == version) return &entry;
  }
  return nullptr;
}

Adaptation read_adaptation(std::string_view text, const std::string& file) {
  const Value root = parse_json(text, {file});
  if (!root.is_object()) throw ConfigError({file}, "must be a JSON object");
  Diagnostics diagnostics;
  TableReader table(root, diagnostics, "");
  Adaptation adaptation;
  std::string format;
  table.require("format", format);
  table.expect("format", format == format_name, fmt::format("must be '{}'", format_name));
  table.require("gpu", adaptation.gpu);
  const Value* families = table.find("families");
  if (families != nullptr && families->is_array()) {
    for (const Value& family : std::get<ValueArray>(families->data)) {
      if (family.is_object()) adaptation.families.push_back(read_family(family, diagnostics));
    }
  }
  diagnostics.throw_if_any();
  return adaptation;
}

std::string write_adaptation(const Adaptation& adaptation) {
  const auto rounded = [](double value) { return std::stod(fmt::format("{:.6g}", value)); };
  ValueArray families;
  for (const FamilyAdaptation& family : adaptation.families) {
    ValueArray weights;
    for (const double weight : family.weights) weights.emplace_back(rounded(weight));
    families.emplace_back(ValueObject{{"family", family.family},
                                      {"version", family.version},
                                      {"offset", rounded(family.offset)},
                                      {"length", rounded(family.length)},
                                      {"error", rounded(family.error)},
                                      {"features", static_cast<std::int64_t>(family.features)},
                                      {"points", encode_halves(family.points)},
                                      {"weights", std::move(weights)}});
  }
  return to_json(Value(ValueObject{{"format", std::string(format_name)},
                                   {"gpu", adaptation.gpu},
                                   {"families", std::move(families)}}),
                 1) +
         "\n";
}

}  // namespace foretoken
