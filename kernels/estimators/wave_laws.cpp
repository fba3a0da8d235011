#include "kernels/estimators/wave_laws.hpp"

#include <algorithm>

#include "kernels/networks/artifact.hpp"
#include "kernels/tasks/decomposition.hpp"
#include "sim/base/json.hpp"
#include "sim/base/table_reader.hpp"

namespace foretoken {
namespace {

constexpr std::string_view format = "foretoken wave laws 1";

double rounded(double value) { return std::stod(fmt::format("{:.4g}", value)); }

auto tied(const WaveLawKey& key) {
  const Implementation by = key.implementation.value_or(Implementation{});
  return std::tuple(std::string_view(key.family), key.implementation.has_value(), by.framework,
                    by.source, std::string_view(key.gpu));
}

WaveLawKey read_key(TableReader& table) {
  WaveLawKey key;
  table.require("family", key.family);
  table.read("gpu", key.gpu);
  Implementation by;
  const bool is_named = table.read("framework", by.framework);
  if (table.read("source", by.source) || is_named) key.implementation = by;
  return key;
}

WaveLaw read_law(TableReader& table) {
  WaveLaw law;
  std::vector<double> constants;
  table.require("constants", constants);
  table.read("error", law.error);
  table.expect("constants", constants.size() == wave_column_count,
               fmt::format("must be {} numbers, one a column", wave_column_count));
  table.expect("constants", std::ranges::all_of(constants, [](double c) { return c >= 0; }),
               "must not be below 0");
  if (constants.size() == wave_column_count) std::ranges::copy(constants, law.constants.begin());
  return law;
}

ValueObject law_value(const WaveLawKey& key, const WaveLaw& law) {
  ValueObject value = {{"family", key.family}};
  if (key.implementation) {
    value.emplace_back("framework", std::string(enum_name(key.implementation->framework)));
    value.emplace_back("source", std::string(enum_name(key.implementation->source)));
  }
  if (!key.gpu.empty()) value.emplace_back("gpu", key.gpu);
  ValueArray constants;
  for (const double constant : law.constants) constants.emplace_back(rounded(constant));
  value.emplace_back("constants", constants);
  value.emplace_back("error", rounded(law.error));
  return value;
}

}  // namespace

bool operator<(const WaveLawKey& a, const WaveLawKey& b) { return tied(a) < tied(b); }

Seconds WaveLaw::time(const LaunchWaves& waves) const {
  double sum = 0;
  for (std::size_t i = 0; i < wave_column_count; ++i) sum += constants[i] * waves.seconds[i];
  return Seconds(sum);
}

WaveLaws::Found WaveLaws::find(std::string_view family, const Kernel& kernel, const GpuSpec& gpu,
                               const GpuSpec* known) const {
  Implementation by = resolve_implementation(kernel, gpu);
  by.is_cold = false;
  WaveLawKey key{std::string(family), by, known != nullptr ? known->name : gpu.name};
  const auto law_of = [&]() -> const WaveLaw* {
    const auto found = laws_.find(key);
    return found == laws_.end() ? nullptr : &found->second;
  };
  if (const WaveLaw* law = law_of()) return {law, known == nullptr};
  key.gpu.clear();
  if (const WaveLaw* law = law_of()) return {law, false};
  key.implementation.reset();
  return {law_of(), false};
}

std::string WaveLaws::text() const {
  ValueArray columns, laws;
  for (const std::string_view name : EnumNames<WaveColumn>::names) {
    columns.emplace_back(std::string(name));
  }
  for (const auto& [key, law] : laws_) laws.emplace_back(law_value(key, law));
  const ValueObject root = {{"format", std::string(format)},
                            {"version", static_cast<std::int64_t>(launch_waves_version)},
                            {"columns", columns},
                            {"provenance", provenance_},
                            {"laws", laws}};
  return to_json(Value(root), 1) + "\n";
}

WaveLaws read_wave_laws(std::string_view text, const std::string& file) {
  const Value root = parse_json(text, {file});
  Diagnostics diagnostics;
  if (!root.is_object()) throw ConfigError({file}, "must be a JSON object");
  TableReader table(root, diagnostics, "wave laws");
  std::string found;
  std::int64_t version = 0;
  table.require("format", found);
  table.require("version", version);
  table.expect("format", found == format, fmt::format("must be '{}'", format));
  table.expect(
      "version", version == launch_waves_version,
      "is of another program: fit it again with foretoken-calibrate train --baseline wave");
  diagnostics.throw_if_any();
  WaveLaws::Laws laws;
  const Value* const list = table.find("laws");
  table.expect("laws", list != nullptr && list->is_array(), "must be an array of laws");
  diagnostics.throw_if_any();
  for (const Value& entry : std::get<ValueArray>(list->data)) {
    TableReader law(entry, diagnostics, "law");
    const WaveLawKey key = read_key(law);
    laws[key] = read_law(law);
  }
  diagnostics.throw_if_any();
  const Value* const provenance = table.find("provenance");
  return {std::move(laws), provenance != nullptr ? *provenance : Value()};
}

const WaveLaws& embedded_wave_laws() {
  static const WaveLaws laws = [] {
    const auto files = embedded_baselines();
    const auto found = std::ranges::find(files, "wave", &EmbeddedFile::stem);
    if (found == files.end()) return WaveLaws({}, {});
    return read_wave_laws(found->text, "calibration/artifacts/baselines/wave.json");
  }();
  return laws;
}

}  // namespace foretoken
