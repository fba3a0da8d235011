#include "kernels/estimators/paper_family.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <optional>

#include "hardware/known_part.hpp"
#include "kernels/estimators/features.hpp"
#include "kernels/kernel_work.hpp"

namespace foretoken {
namespace {

const std::vector<std::string> math_names = {
    "tensor_total_ops", "tensor_total_cycles", "tensor_max_sm_ops", "tensor_max_sm_cycles",
    "fma_total_ops",    "fma_total_cycles",    "fma_max_sm_ops",    "fma_max_sm_cycles",
    "xu_total_ops",     "xu_total_cycles",     "xu_max_sm_ops",     "xu_max_sm_cycles"};
const std::vector<std::string> mio_names = {"memory_total_bytes",         "memory_dram_cycles",
                                            "memory_l2_cycles",           "memory_max_sm_bytes",
                                            "memory_max_sm_dram_cycles",  "memory_max_sm_l2_cycles",
                                            "memory_max_sm_shared_cycles"};

/// The same for every variant, of which each asks twice; only the last kernel's is kept.
const KernelFeatures& analysis_of(const Kernel& kernel, const GpuSpec& gpu) {
  struct Analysis {
    Kernel kernel;
    GpuSpec gpu;
    KernelFeatures features;
  };
  thread_local std::optional<Analysis> last;
  if (!last || last->kernel != kernel || !same_part(last->gpu, gpu)) {
    last = Analysis{kernel, gpu, analyze(decompose(kernel, gpu), gpu)};
  }
  return last->features;
}

class PaperFamily final : public EstimatorFamily {
 public:
  PaperFamily(const EstimatorFamily& family, PaperVariant variant)
      : family_(family),
        has_math_(variant != PaperVariant::without_math),
        has_mio_(variant != PaperVariant::without_mio) {
    if (has_math_) names_ = math_names;
    if (has_mio_) names_.insert(names_.end(), mio_names.begin(), mio_names.end());
  }

  [[nodiscard]] std::string_view name() const override { return family_.name(); }
  [[nodiscard]] int version() const override { return kernel_features_version; }
  [[nodiscard]] const std::vector<std::string>& feature_names() const override { return names_; }

  [[nodiscard]] bool covers(const Kernel& kernel, const GpuSpec& gpu) const override {
    return family_.covers(kernel, gpu);
  }

  [[nodiscard]] FirstOrder first_order(const Kernel& kernel, const GpuSpec& gpu) const override {
    const KernelFeatures& f = analysis_of(kernel, gpu);
    const double cycles =
        std::max({f.tensor.max_sm_cycles, f.fma.max_sm_cycles, f.xu.max_sm_cycles});
    const double math = has_math_ ? cycles / gpu.clock.value() : 0;
    const double memory =
        has_mio_ ? kernel_work(kernel).dram_bytes.value() / gpu.dram_bandwidth.value() : 0;
    const Seconds launches = gpu.launch_latency * f.launches;
    return {launches + Seconds(std::max(math, memory)),
            math > memory ? Bound::tensor : Bound::dram};
  }

  void features(const Kernel& kernel, const GpuSpec& gpu, FeatureSink& out) const override {
    const KernelFeatures& f = analysis_of(kernel, gpu);
    if (has_math_) {
      for (const PipeFeatures& pipe : {f.tensor, f.fma, f.xu}) {
        for (const double value :
             {pipe.total_ops, pipe.total_cycles, pipe.max_sm_ops, pipe.max_sm_cycles}) {
          out.add(std::log1p(value));
        }
      }
    }
    if (!has_mio_) return;
    const MemoryFeatures& m = f.memory;
    for (const double value : {m.total_bytes, m.dram_cycles, m.l2_cycles, m.max_sm_bytes,
                               m.max_sm_dram_cycles, m.max_sm_l2_cycles, m.max_sm_shared_cycles}) {
      out.add(std::log1p(value));
    }
  }

  /// The paper knows no cold launches.
  [[nodiscard]] Seconds cold_extra(const Kernel&, const GpuSpec&) const override {
    return Seconds(0);
  }

 private:
  const EstimatorFamily& family_;
  bool has_math_, has_mio_;
  std::vector<std::string> names_;
};

std::deque<PaperFamily> families_of(PaperVariant variant) {
  std::deque<PaperFamily> families;
  for (const EstimatorFamily* family : estimator_families()) {
    families.emplace_back(*family, variant);
  }
  return families;
}

}  // namespace

const EstimatorFamily& paper_family(const EstimatorFamily& family, PaperVariant variant) {
  static const std::array<std::deque<PaperFamily>, 3> all = {
      families_of(PaperVariant::whole), families_of(PaperVariant::without_mio),
      families_of(PaperVariant::without_math)};
  const auto& families = all[static_cast<std::size_t>(variant)];
  const auto found = std::ranges::find(families, family.name(), &PaperFamily::name);
  FORETOKEN_CHECK(found != families.end(), "no family is called '{}'", family.name());
  return *found;
}

std::string_view paper_name(PaperVariant variant) {
  constexpr auto names = std::to_array<std::string_view>(
      {"synperf_paper", "synperf_without_mio", "synperf_without_math"});
  return names[static_cast<std::size_t>(variant)];
}

}  // namespace foretoken
