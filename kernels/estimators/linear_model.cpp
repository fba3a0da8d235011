#include "kernels/estimators/linear_model.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/kernel_work.hpp"
#include "kernels/networks/artifact.hpp"
#include "sim/base/json.hpp"
#include "sim/base/table_reader.hpp"

namespace foretoken {
namespace {

constexpr double launch_share_min = 0.1;

double rounded_constant(double value) {
  return std::stod(fmt::format("{:.6g}", value));  // more digits than the fit is worth
}

}  // namespace

Seconds LinearModel::time(const LinearTerms& terms, const GpuSpec& gpu) const {
  const double sum = intercept + math * terms.math + memory * terms.memory;
  return Seconds(std::max(sum, launch_share_min * gpu.launch_latency.value()));
}

LinearTerms linear_terms(const Kernel& kernel, const GpuSpec& gpu) {
  KernelWork work = kernel_work(kernel);
  work.tensor_dtype = product_format(work.tensor_dtype, gpu);
  const double tensor_rate = gpu.tensor_rate(work.tensor_dtype).value();
  if (work.tensor_flops > 0 && !(tensor_rate > 0)) {
    throw PredictionError(fmt::format("{} in {}: {} has no matrix path for it", kernel_name(kernel),
                                      enum_name(work.tensor_dtype), gpu.name));
  }
  const double xu_rate = gpu.xu_ops_per_cycle_sm * gpu.sm_count * gpu.clock.value();
  const auto time = [](double amount, double rate) { return amount > 0 ? amount / rate : 0.0; };
  return {time(work.tensor_flops, tensor_rate) + time(work.fma_ops, gpu.fma_rate().value() / 2) +
              time(work.xu_ops, xu_rate),
          work.dram_bytes.value() / gpu.dram_bandwidth.value()};
}

LinearModels read_linear_models(std::string_view text, const std::string& file) {
  const Value root = parse_json(text, {file});
  if (!root.is_object()) throw ConfigError({file}, "must be a JSON object");
  Diagnostics diagnostics;
  LinearModels models;
  for (const auto& [family, constants] : std::get<ValueObject>(root.data)) {
    if (!constants.is_object()) continue;  // provenance
    TableReader table(constants, diagnostics, family);
    LinearModel model;
    table.require("intercept_s", model.intercept);
    table.require("math", model.math);
    table.require("memory", model.memory);
    models.emplace(family, model);
  }
  diagnostics.throw_if_any();
  return models;
}

std::string write_linear_models(const LinearModels& models) {
  ValueObject root = {{"format", "foretoken linear constants 1"}};
  for (const auto& [family, model] : models) {
    root.emplace_back(family, ValueObject{{"intercept_s", rounded_constant(model.intercept)},
                                          {"math", rounded_constant(model.math)},
                                          {"memory", rounded_constant(model.memory)}});
  }
  return to_json(Value(std::move(root)), 1) + "\n";
}

LinearModels embedded_linear_models() {
  const auto files = embedded_baselines();
  const auto found = std::ranges::find(files, "linear", &EmbeddedFile::stem);
  if (found == files.end()) return {};
  return read_linear_models(found->text, "calibration/artifacts/baselines/linear.json");
}

}  // namespace foretoken
