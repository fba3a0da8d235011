#include "kernels/networks/adaptation.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "kernels/networks/half_text.hpp"
#include "sim/base/error.hpp"
#include "sim/base/fingerprint.hpp"
#include "sim/base/json.hpp"
#include "sim/base/table_reader.hpp"

namespace foretoken {
namespace {

constexpr std::string_view format_name = "foretoken adaptation 4";
/// Beyond this a file is damaged: adapting takes 25 to 100 launches of a family.
constexpr double offset_max = 7;  // prices a thousand times as high: units mixed up at the latest
constexpr std::int64_t launches_max = 10'000, width_max = networks_max * network_width_max;

std::uint64_t read_fingerprint(TableReader& table, std::string_view key) {
  std::string text;
  std::uint64_t number = 0;
  if (!table.require(key, text)) return number;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number, 16);
  const bool is_whole = read.ec == std::errc() && read.ptr == text.data() + text.size();
  table.expect(key, is_whole, "must be a hexadecimal number");
  return number;
}

Nearness read_nearness(const Value& value, Diagnostics& diagnostics, std::string_view name) {
  TableReader table(value, diagnostics, std::string(name));
  Nearness near;
  std::int64_t width = 0;
  std::string points;
  table.require("length", near.length);
  table.expect("length", near.length > 0, "must be above 0");
  table.require("width", width);
  table.require("weights", near.weights);
  table.require("points", points);
  table.finish();
  const auto launches = static_cast<std::int64_t>(near.weights.size());
  const bool is_sound = width > 0 && width <= width_max && launches > 0 && launches <= launches_max;
  table.expect("width", is_sound, "width and launches are too few or too many");
  if (!is_sound) return near;
  near.width = static_cast<std::size_t>(width);
  auto numbers = decode_halves(points, near.width * near.weights.size());
  if (!numbers) table.fail("points", "must be base64 of launches x width half-precision numbers");
  if (numbers && !std::ranges::all_of(*numbers, [](float x) { return std::isfinite(x); }))
    table.fail("points", "must be finite");
  near.points = numbers.value_or(std::vector<float>(near.width * near.weights.size()));
  return near;
}

FamilyAdaptation read_family(const Value& value, Diagnostics& diagnostics) {
  TableReader table(value, diagnostics, "family");
  FamilyAdaptation family;
  table.require("family", family.family);
  table.require("version", family.version);
  family.networks = read_fingerprint(table, "networks");
  table.require("offset", family.offset);
  table.expect("offset", std::abs(family.offset) <= offset_max,
               fmt::format("must be within {} of 0", offset_max));
  table.require("error", family.error);
  table.require("error_before", family.error_before);
  for (const auto& [name, near] :
       {std::pair("states", &family.states), std::pair("inputs", &family.inputs)}) {
    const Value* part = table.find(name);
    const bool is_table = part != nullptr && part->is_object();
    table.expect(name, is_table, "must be a table");
    if (is_table) *near = read_nearness(*part, diagnostics, name);
  }
  table.finish();
  return family;
}

double rounded(double value) { return std::stod(fmt::format("{:.6g}", value)); }

Value value_of(const Nearness& near) {
  ValueArray weights;
  for (const double weight : near.weights) weights.emplace_back(rounded(weight));
  return ValueObject{{"length", rounded(near.length)},
                     {"width", static_cast<std::int64_t>(near.width)},
                     {"points", encode_halves(near.points)},
                     {"weights", std::move(weights)}};
}

/// Of all members but the checksum itself: a digit that was damaged prices everything anew.
std::string checksum_of(const Value& root) {
  Value rest;
  for (const auto& [key, member] : std::get<ValueObject>(root.data))
    if (key != "checksum") rest.set(key, member);
  return fmt::format("{:016x}", Fingerprint().add(std::string_view(to_json(rest, -1))).value());
}

void read_families(const Value* families, Diagnostics& diagnostics, Adaptation& adaptation) {
  if (families == nullptr || !families->is_array()) return;
  for (const Value& family : std::get<ValueArray>(families->data)) {
    if (family.is_object()) {
      adaptation.families.push_back(read_family(family, diagnostics));
    } else {
      diagnostics.add(family.position, "families: must hold tables alone");
    }
  }
}

}  // namespace

double Nearness::sum(std::span<const float> point) const {
  FORETOKEN_CHECK(point.size() == width, "{} numbers instead of {}", point.size(), width);
  using Vector = Eigen::Map<const Eigen::VectorXf>;
  const auto size = static_cast<Eigen::Index>(width);
  const Vector at(point.data(), size);
  const double inverse = 1.0 / (2 * length * length);
  double sum = 0;
  for (std::size_t launch = 0; launch < weights.size(); ++launch) {
    const Vector own(points.data() + launch * width, size);
    sum += weights[launch] * std::exp(-inverse * static_cast<double>((at - own).squaredNorm()));
  }
  return sum;
}

bool FamilyAdaptation::corrects() const {
  const auto is_set = [](double weight) { return weight != 0; };
  return offset != 0 || std::ranges::any_of(states.weights, is_set) ||
         std::ranges::any_of(inputs.weights, is_set);
}

double FamilyAdaptation::correction(std::span<const float> state,
                                    std::span<const float> input) const {
  return offset + states.sum(state) + inputs.sum(input);
}

const FamilyAdaptation* Adaptation::find(std::string_view family) const {
  const auto found = std::ranges::find(families, family, &FamilyAdaptation::family);
  return found == families.end() ? nullptr : &*found;
}

std::string adaptation_path(const std::string& gpu_name_or_path) {
  std::filesystem::path path(gpu_name_or_path);
  if (path.extension() == ".toml") path.replace_extension();
  path += ".adaptation.json";
  return path.string();
}

Adaptation read_adaptation(std::string_view text, const std::string& file) {
  const Value root = parse_json(text, {file});
  if (!root.is_object()) throw ConfigError({file}, "must be a JSON object");
  Diagnostics diagnostics;
  TableReader table(root, diagnostics, "");
  Adaptation adaptation;
  std::string format;
  table.require("format", format);
  table.expect("format", format == format_name,
               fmt::format("must be '{}'; write it again with this version: foretoken-calibrate "
                           "adapt",
                           format_name));
  std::string checksum;
  table.require("checksum", checksum);
  table.expect("checksum", checksum == checksum_of(root),
               "does not match the file's contents, which were changed or damaged; adapt again: "
               "foretoken-calibrate adapt");
  diagnostics.throw_if_any();
  table.require("gpu", adaptation.gpu);
  read_families(table.find("families"), diagnostics, adaptation);
  table.finish();
  if (diagnostics.empty() && adaptation.families.empty()) {
    table.fail("families", "must hold at least one family");
  }
  diagnostics.throw_if_any();
  return adaptation;
}

Adaptation load_adaptation(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw ConfigError({path}, "cannot be opened; check the path");
  return read_adaptation(std::string(std::istreambuf_iterator<char>(file), {}), path);
}

std::string write_adaptation(const Adaptation& adaptation) {
  ValueArray families;
  for (const FamilyAdaptation& family : adaptation.families) {
    families.emplace_back(ValueObject{{"family", family.family},
                                      {"version", family.version},
                                      {"networks", fmt::format("{:016x}", family.networks)},
                                      {"offset", rounded(family.offset)},
                                      {"error", rounded(family.error)},
                                      {"error_before", rounded(family.error_before)},
                                      {"states", value_of(family.states)},
                                      {"inputs", value_of(family.inputs)}});
  }
  Value root(ValueObject{{"format", std::string(format_name)},
                         {"gpu", adaptation.gpu},
                         {"families", std::move(families)}});
  root.set("checksum", checksum_of(root));
  return to_json(root, 1) + "\n";
}

}  // namespace foretoken
