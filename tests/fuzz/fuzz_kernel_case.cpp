// Any bytes as a line of `foretoken predict`: it becomes a kernel or a ConfigError, and every
// kernel has a price by every predictor that is a finite time or a PredictionError, on every GPU,
// and an explanation of finite cycles.
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/gpu.hpp"
#include "kernels/kernel_case.hpp"
#include "kernels/predictor.hpp"
#include "kernels/tasks/explain.hpp"
#include "sim/base/json.hpp"
#include "tests/fuzz/target.hpp"

namespace {

using namespace foretoken;

struct NamedPredictor {
  std::string name;
  std::unique_ptr<Predictor> predictor;
};

std::vector<NamedPredictor> all_predictors() {
  const Value options;
  std::vector<NamedPredictor> all;
  const Registry<PredictorFactory> catalog = predictor_catalog();
  for (const auto& entry : catalog.entries()) {
    Diagnostics diagnostics;
    TableReader table(options, diagnostics, "predictor");
    all.push_back({entry.name, entry.make(table)});
  }
  return all;
}

/// One of each kind: what was measured, no FP8, no wide memory, AMD, and Blackwell.
std::vector<GpuSpec> all_gpus() {
  std::vector<GpuSpec> gpus;
  for (const char* name : {"h200-sxm", "a100-sxm", "l40s", "mi300x", "b200-sxm"})
    gpus.push_back(load_gpu(name, {}));
  return gpus;
}

void check_price(const Kernel& kernel, const GpuSpec& gpu) {
  static const std::vector<NamedPredictor> predictors = all_predictors();
  for (const NamedPredictor& each : predictors) {
    try {
      const Prediction price = each.predictor->predict(kernel, gpu);
      const double time = price.time.value();
      FORETOKEN_CHECK(std::isfinite(time) && time >= 0.0, "{} takes {} s on {} by {}",
                      kernel_name(kernel), time, gpu.name, each.name);
      FORETOKEN_CHECK(std::isfinite(price.expected_error) && price.expected_error >= 0.0,
                      "{} on {} by {} has the error {}", kernel_name(kernel), gpu.name, each.name,
                      price.expected_error);
    } catch (const PredictionError&) {
      continue;  // a collective, or a dtype that this GPU has no path for
    }
  }
}

void check_explanation(const Kernel& kernel, const GpuSpec& gpu) {
  try {
    for (const LaunchExplanation& launch : explain(kernel, gpu).launches) {
      for (const PipeCycles& pipe : launch.pipes) {
        FORETOKEN_CHECK(std::isfinite(pipe.cycles) && pipe.cycles >= 0.0, "{} cycles of {} on {}",
                        pipe.cycles, launch.name, gpu.name);
      }
    }
  } catch (const PredictionError&) {
    return;
  }
}

}  // namespace

FORETOKEN_FUZZ(kernel_case)(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  KernelCase kernel_case;
  try {
    const Value object = parse_json(text, {"fuzz.jsonl", 1});
    kernel_case = read_kernel_case(object);
  } catch (const ConfigError&) {
    return 0;
  }
  static const std::vector<GpuSpec> gpus = all_gpus();
  for (const GpuSpec& gpu : gpus) {
    check_price(kernel_case.kernel, gpu);
    check_explanation(kernel_case.kernel, gpu);
  }
  return 0;
}
