// Waves of CTAs, RaMP's cost model extended to every kernel: rounds of resident CTAs, the busiest
// SM, memory and launches, linear in constants fitted to the launches of each framework
// (kernels/estimators/wave_laws.hpp). With `dispatch`, mixture-of-experts layers are Triton's fused
// kernel with many configurations, one of which a policy picks by the number of tokens or by the
// routing (kernels/tiles/moe_dispatch.hpp): what a framework could gain from looking at the
// histogram. Kernels that nobody measured (products of several batches, states) are priced by
// `others`.
#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>

#include "hardware/known_relatives.hpp"
#include "kernels/estimators/attention_mixed.hpp"
#include "kernels/estimators/row_prices.hpp"
#include "kernels/estimators/trained_families.hpp"
#include "kernels/estimators/wave_laws.hpp"
#include "kernels/expert_load.hpp"
#include "kernels/fallback.hpp"
#include "kernels/roof.hpp"
#include "kernels/tiles/moe_dispatch.hpp"
#include "sim/base/json.hpp"

namespace foretoken {
namespace {

struct WaveConfig {
  /// Not given: the framework's kernel with the configuration it ships. "static": Triton's, by
  /// vLLM's way, the nearest entry of a table tuned with experts alike. "bucket": the same with an
  /// entry a power of two. "routing_aware": by the step's own histogram.
  std::optional<DispatchPolicy> dispatch;
  /// Files that `foretoken-calibrate fit wave` wrote, of one's own fused kernel: its GPU's and
  /// format's layers are that kernel's, by `dispatch` (routing_aware if not given).
  std::vector<std::string> profiles;

  static WaveConfig from_table(TableReader& options) {
    WaveConfig config;
    DispatchPolicy policy{};
    if (options.read("dispatch", policy)) config.dispatch = policy;
    options.read("profiles", config.profiles);
    return config;
  }
};

/// Assignments of the busiest rank's experts, at least one.
std::vector<std::int64_t> histogram_of(const FusedMoe& kernel, const MoeLayer& layer) {
  std::vector<std::int64_t> histogram = busiest_rank_rows(kernel);
  histogram.resize(static_cast<std::size_t>(layer.experts));
  if (std::ranges::all_of(histogram, [](std::int64_t count) { return count == 0; })) {
    histogram.front() = 1;  // a part of an assignment, rounded away
  }
  return histogram;
}

class Wave final : public Predictor {
 public:
  Wave(const WaveConfig& config, std::unique_ptr<Predictor> others)
      : policy_(config.dispatch), others_(std::move(others)) {
    for (const std::string& path : config.profiles) {
      profiles_.push_back(read_wave_profile(load_json(path)));
    }
  }

  [[nodiscard]] Prediction predict(const Kernel& kernel, const GpuSpec& gpu) const override {
    if (const auto* moe = std::get_if<FusedMoe>(&kernel);
        moe != nullptr && is_dispatched(*moe, gpu)) {
      return price_dispatched(*moe, gpu);
    }
    return price(kernel, gpu);
  }

 private:
  /// As the framework launches it.
  [[nodiscard]] Prediction price(const Kernel& kernel, const GpuSpec& gpu) const {
    const EstimatorFamily* const family = family_of(kernel, gpu);
    if (family == nullptr && is_mixed(kernel)) return price_apart(*this, kernel, gpu);
    const WaveLaws::Found found =
        family == nullptr ? WaveLaws::Found()
                          : laws_.find(family->name(), kernel, gpu, relatives_.find(gpu));
    if (found.law != nullptr) {
      const auto at = [&](const Kernel& one) { return by_law(found, one, gpu); };
      if (family->row_end(kernel, gpu) == 0) return at(kernel);
      return rows_.find(*family, kernel, gpu, at);
    }
    if (others_ != nullptr) return others_->predict(kernel, gpu);
    throw PredictionError(
        fmt::format("{}: the wave predictor has no constants for this kernel on {}; set others = "
                    "\"synperf\" for the rest",
                    kernel_name(kernel), gpu.name));
  }

  [[nodiscard]] static Prediction by_law(const WaveLaws::Found& found, const Kernel& kernel,
                                         const GpuSpec& gpu) {
    const LaunchWaves waves = launch_waves(kernel, gpu);
    return {found.law->time(waves), waves.bound_by(),
            found.is_of_gpu ? Origin::learned : Origin::transferred, found.law->error};
  }

  [[nodiscard]] const WaveProfile* own_profile(const GpuSpec& gpu, DType dtype) const {
    const auto own = std::ranges::find_if(profiles_, [&](const WaveProfile& profile) {
      return profile.gpu == gpu.name && profile.dtype == dtype;
    });
    return own != profiles_.end() ? &*own : nullptr;
  }

  [[nodiscard]] bool is_dispatched(const FusedMoe& kernel, const GpuSpec& gpu) const {
    if (!(gpu.tensor_ops_per_cycle_sm[static_cast<std::size_t>(kernel.dtype)] > 0)) return false;
    return policy_.has_value() || own_profile(gpu, kernel.dtype) != nullptr;
  }

  /// Triton's fused kernel, static, as the framework launches it, times what another policy makes
  /// of it; or a kernel of the user's by its own profile.
  [[nodiscard]] Prediction price_dispatched(FusedMoe kernel, const GpuSpec& gpu) const {
    const DispatchPolicy policy = policy_.value_or(DispatchPolicy::routing_aware);
    const MoeLayer layer = layer_of(kernel);
    const std::vector<std::int64_t> histogram = histogram_of(kernel, layer);
    MoeDispatcher& dispatcher = dispatcher_for(layer, gpu);
    const auto time_us = [&](DispatchPolicy by) {
      const std::size_t chosen = dispatched(dispatcher, by, histogram, kernel.tokens);
      return static_cast<double>(dispatcher.times_us(histogram)[chosen]);
    };
    if (own_profile(gpu, layer.dtype) != nullptr) {
      // A line through measured points may cross what memory allows, far from them.
      const Seconds weights =
          Bytes(active_experts(histogram) * layer.weight_bytes()) / gpu.dram_bandwidth;
      return {std::max(Seconds(time_us(policy) * 1e-6), weights + gpu.launch_latency),
              roof_of(Kernel(kernel), gpu).bound_by, Origin::learned,
              dispatcher.source().expected_error};
    }
    kernel.implementation.source = KernelSource::triton;
    Prediction prediction = price(Kernel(kernel), gpu);
    if (policy != DispatchPolicy::fixed) {
      prediction.time *= time_us(policy) / time_us(DispatchPolicy::fixed);
    }
    return prediction;
  }

  MoeDispatcher& dispatcher_for(const MoeLayer& layer, const GpuSpec& gpu) const {
    const Key key{gpu.name, gpu.file, layer.experts, layer.hidden, layer.intermediate, layer.dtype};
    const auto found = dispatchers_.find(key);
    if (found != dispatchers_.end()) return found->second;
    const WaveProfile* const own = own_profile(gpu, layer.dtype);
    MoeDispatcher made =
        own != nullptr ? MoeDispatcher(layer, gpu, *own) : MoeDispatcher(layer, gpu);
    return dispatchers_.emplace(key, std::move(made)).first->second;
  }

  using Key = std::tuple<std::string, std::string, int, std::int64_t, std::int64_t, DType>;

  const WaveLaws& laws_ = embedded_wave_laws();
  std::optional<DispatchPolicy> policy_;
  std::unique_ptr<Predictor> others_;  // null: none
  std::vector<WaveProfile> profiles_;
  KnownRelatives relatives_;
  RowPrices rows_;
  // No state that shows: a dispatcher answers the same whenever it is made.
  mutable std::map<Key, MoeDispatcher> dispatchers_;
};

}  // namespace

std::unique_ptr<Predictor> make_wave(TableReader& options) {
  const WaveConfig config = WaveConfig::from_table(options);
  return std::make_unique<Wave>(config, read_fallback(options, "others", Fallback::synperf));
}

}  // namespace foretoken
