#include "calibration/datasets/family_table.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/estimators/trained_families.hpp"
#include "sim/base/fingerprint.hpp"

namespace foretoken {
namespace {

/// A cold sample can be faster than cold_extra says; its warm part is then taken as this share.
constexpr double warm_share_min = 0.1;

int index_of(std::vector<std::string>& names, const std::string& name) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) names.push_back(name);
  return static_cast<int>(std::ranges::find(names, name) - names.begin());
}

/// FNV-1a's low bits mix poorly over short texts; the high half is folded in.
int draw_of_model(std::string_view unsharded) {
  const std::uint64_t hash = Fingerprint().add(unsharded).value();
  return static_cast<int>((hash ^ (hash >> 32)) % model_draws);
}

std::string source_label(const Sample& sample) {
  std::string framework;
  std::visit(
      [&](const auto& kernel) {
        if constexpr (requires { kernel.implementation; }) {
          framework = enum_name(kernel.implementation.framework);
          if (kernel.implementation.is_cold) framework += " cold";
        }
      },
      sample.kernel);
  if (framework.empty()) {
    return cold_state(sample.kernel) == false ? sample.origin + " warm" : sample.origin;
  }
  return sample.source_name.starts_with(framework) ? sample.source_name
                                                   : framework + " " + sample.source_name;
}

}  // namespace

const GpuSpec& GpuSpecs::find(const std::string& name) {
  const auto found = specs_.find(name);
  if (found != specs_.end()) return found->second;
  return specs_.emplace(name, load_gpu(name, {"dataset"})).first->second;
}

FamilyTable FamilyTable::subset(std::span<const std::size_t> indices) const {
  FamilyTable part;
  part.family = family;
  part.features = features;
  part.gpus = gpus;
  part.specs = specs;
  part.sources = sources;
  part.files = files;
  for (const std::size_t row : indices) {
    part.rows.push_back(rows[row]);
    const auto values = input(row);
    part.inputs.insert(part.inputs.end(), values.begin(), values.end());
    if (!kernels.empty()) part.kernels.push_back(kernels[row]);
  }
  return part;
}

namespace {

/// Fills in T, the features and what follows from them; false if the family has no price.
bool fill(FamilyTable& table, const Kernel& kernel, const GpuSpec& gpu, FamilyRow& row) {
  const EstimatorFamily& family = *table.family;
  const std::size_t begin = table.inputs.size();
  table.inputs.resize(begin + table.features);
  const std::span<float> values = std::span(table.inputs).subspan(begin);
  try {
    FeatureSink sink(values);
    const EstimatorFamily::Parts parts = family.parts(kernel, gpu, sink);
    row.first_order = parts.first.time.value();
    row.cold_extra = is_cold(kernel) ? parts.cold_extra.value() : 0.0;
    FORETOKEN_CHECK(sink.used() == table.features, "{}: {} features instead of {}", family.name(),
                    sink.used(), table.features);
  } catch (const PredictionError&) {
    table.inputs.resize(begin);
    ++table.unpriced;
    return false;
  }
  FORETOKEN_CHECK(row.first_order > 0 && std::isfinite(row.first_order), "{}: T is {}",
                  family.name(), row.first_order);
  for (std::size_t i = 0; i < values.size(); ++i) {
    FORETOKEN_CHECK(std::isfinite(values[i]), "{}: {} is not finite", family.name(),
                    family.feature_names()[i]);
  }
  const double warm = std::max(row.measured - row.cold_extra, warm_share_min * row.measured);
  row.log_ratio = std::log(warm / row.first_order);
  return true;
}

FamilyTable empty_table(const EstimatorFamily& family) {
  FamilyTable table;
  table.family = &family;
  table.features = family.feature_names().size();
  return table;
}

void add_sample(FamilyTable& table, const Sample& sample, const Dataset& dataset,
                const GpuSpec& gpu, bool with_kernels) {
  FamilyRow row;
  row.measured = sample.time.value();
  if (!fill(table, sample.kernel, gpu, row)) return;
  row.gpu = index_of(table.gpus, sample.gpu);
  if (table.specs.size() < table.gpus.size()) table.specs.push_back(gpu);
  row.source = index_of(table.sources, source_label(sample));
  row.file = sample.file;
  row.is_own = sample.file >= 0 && dataset.files[static_cast<std::size_t>(sample.file)].is_own;
  row.is_doubted = sample.is_doubted;
  row.is_held_out = is_held_out_layout(sample.layout);
  row.model_draw = draw_of_model(unsharded_layout(sample.layout));
  row.layout = Fingerprint().add(std::string_view(sample.layout)).value();
  table.rows.push_back(row);
  if (with_kernels) table.kernels.push_back(sample.kernel);
}

}  // namespace

std::vector<FamilyTable> tabulate_all(const std::vector<const EstimatorFamily*>& families,
                                      const Dataset& dataset, bool with_kernels) {
  std::vector<FamilyTable> tables;
  for (const EstimatorFamily* family : families) {
    tables.push_back(empty_table(*family));
    tables.back().files = dataset.files;
  }
  GpuSpecs specs;
  for (const Sample& sample : dataset.samples) {
    const GpuSpec& gpu = specs.find(sample.gpu);
    const auto found = std::ranges::find(families, family_of(sample.kernel, gpu));
    if (found == families.end()) continue;
    FamilyTable& table = tables[static_cast<std::size_t>(found - families.begin())];
    add_sample(table, sample, dataset, gpu, with_kernels);
  }
  return tables;
}

FamilyTable tabulate(const EstimatorFamily& family, const Dataset& dataset, bool with_kernels) {
  return std::move(tabulate_all({&family}, dataset, with_kernels).front());
}

FamilyTable retabulated(const FamilyTable& table, std::span<const std::size_t> indices,
                        const EstimatorFamily& family) {
  FORETOKEN_CHECK(table.kernels.size() == table.rows.size(), "the table holds no kernels");
  FamilyTable other = empty_table(family);
  other.gpus = table.gpus;
  other.specs = table.specs;
  other.sources = table.sources;
  other.files = table.files;
  GpuSpecs specs;
  for (const std::size_t index : indices) {
    FamilyRow row = table.rows[index];
    const Kernel& kernel = table.kernels[index];
    const GpuSpec& gpu = specs.find(table.gpus[static_cast<std::size_t>(row.gpu)]);
    if (fill(other, kernel, gpu, row)) other.rows.push_back(row);
  }
  return other;
}

const EstimatorFamily& find_family(const std::string& name) {
  std::vector<std::string_view> known;
  for (const EstimatorFamily* family : estimator_families()) {
    if (family->name() == name) return *family;
    known.push_back(family->name());
  }
  throw ConfigError({"--family"}, unknown_name_message("family", name, known));
}

}  // namespace foretoken
