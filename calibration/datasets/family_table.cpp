#include "calibration/datasets/family_table.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/trained_families.hpp"
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
  if (framework.empty()) return sample.origin;
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
  for (const std::size_t row : indices) {
    part.rows.push_back(rows[row]);
    const auto values = input(row);
    part.inputs.insert(part.inputs.end(), values.begin(), values.end());
    if (!kernels.empty()) part.kernels.push_back(kernels[row]);
  }
  return part;
}

FamilyTable tabulate(const EstimatorFamily& family, const Dataset& dataset, bool with_kernels) {
  FamilyTable table;
  table.family = &family;
  table.features = family.feature_names().size();
  GpuSpecs specs;
  std::vector<float> buffer(table.features);
  for (const Sample& sample : dataset.samples) {
    const GpuSpec& gpu = specs.find(sample.gpu);
    if (family_of(sample.kernel, gpu) != &family) continue;
    FamilyRow row;
    try {
      row.first_order = family.first_order(sample.kernel, gpu).time.value();
      FeatureSink sink(buffer);
      family.features(sample.kernel, gpu, sink);
      FORETOKEN_CHECK(sink.used() == table.features, "{}: {} features instead of {}", family.name(),
                      sink.used(), table.features);
    } catch (const PredictionError&) {
      ++table.unpriced;
      continue;
    }
    FORETOKEN_CHECK(row.first_order > 0 && std::isfinite(row.first_order), "{}: T is {}",
                    family.name(), row.first_order);
    for (std::size_t i = 0; i < buffer.size(); ++i) {
      FORETOKEN_CHECK(std::isfinite(buffer[i]), "{}: {} is not finite", family.name(),
                      family.feature_names()[i]);
    }
    row.gpu = index_of(table.gpus, sample.gpu);
    if (table.specs.size() < table.gpus.size()) table.specs.push_back(gpu);
    row.source = index_of(table.sources, source_label(sample));
    row.is_held_out = is_held_out_layout(sample.layout);
    row.model_draw = draw_of_model(unsharded_layout(sample.layout));
    row.layout = Fingerprint().add(std::string_view(sample.layout)).value();
    row.measured = sample.time.value();
    row.cold_extra = is_cold(sample.kernel) ? family.cold_extra(sample.kernel, gpu).value() : 0.0;
    const double warm = std::max(row.measured - row.cold_extra, warm_share_min * row.measured);
    row.log_ratio = std::log(warm / row.first_order);
    table.inputs.insert(table.inputs.end(), buffer.begin(), buffer.end());
    table.rows.push_back(row);
    if (with_kernels) table.kernels.push_back(sample.kernel);
  }
  return table;
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
