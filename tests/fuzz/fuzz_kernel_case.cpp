// Any bytes as a line of `foretoken predict`: it becomes a kernel or a ConfigError, and every
// kernel has a price that is a finite time or a PredictionError, on every GPU.
#include <cmath>
#include <cstdint>
#include <string_view>

#include "hardware/gpu.hpp"
#include "kernels/kernel_case.hpp"
#include "kernels/predictor.hpp"
#include "sim/base/json.hpp"

namespace {

using namespace foretoken;

std::unique_ptr<Predictor> roofline() {
  const Value options;
  Diagnostics diagnostics;
  TableReader table(options, diagnostics, "predictor");
  return predictor_catalog().find("roofline", {}).make(table);
}

void check_price(const Kernel& kernel) {
  static const std::unique_ptr<Predictor> predictor = roofline();
  static const GpuSpec gpus[] = {load_gpu("h200-sxm", {}), load_gpu("a100-sxm", {})};
  for (const GpuSpec& gpu : gpus) {
    try {
      const double time = predictor->predict(kernel, gpu).time.value();
      FORETOKEN_CHECK(std::isfinite(time) && time >= 0.0, "{} takes {} s on {}",
                      kernel_name(kernel), time, gpu.name);
    } catch (const PredictionError&) {
      continue;  // a collective, or a dtype that this GPU has no path for
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  KernelCase kernel_case;
  try {
    const Value object = parse_json(text, {"fuzz.jsonl", 1});
    kernel_case = read_kernel_case(object);
  } catch (const ConfigError&) {
    return 0;
  }
  check_price(kernel_case.kernel);
  return 0;
}
