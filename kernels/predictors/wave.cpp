// Fused mixture-of-experts layers priced as a kernel with many configurations, one of which a
// policy picks by the number of tokens or by the routing (kernels/selection/moe_dispatch.hpp): what
// a serving framework could gain from looking at the histogram. The layers are those of the
// measured Triton kernel, and on GPUs that nobody measured of its wave formula. All other kernels
// are priced by another predictor.
#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "kernels/expert_load.hpp"
#include "kernels/predictor.hpp"
#include "kernels/roof.hpp"
#include "kernels/selection/moe_dispatch.hpp"
#include "sim/base/json.hpp"

namespace foretoken {

std::unique_ptr<Predictor> make_roofline(TableReader& options);
std::unique_ptr<Predictor> make_synperf(TableReader& options);

namespace {

enum class Others { synperf, roofline, none };

/// A choice: twice what its times are off on the H200's grid (0.10, `foretoken-calibrate evaluate
/// --wave`, specification alone), whose GPU its constants are of. It is of the kernel they were
/// fitted to; SGLang's and vLLM's are 36 to 41 % away (`evaluate --predictor synperf,wave`).
constexpr double analytic_error = 0.2;

struct WaveConfig {
  /// "static": vLLM's way, the nearest entry of a table tuned with experts alike. "bucket": the
  /// same with an entry a power of two. "routing_aware": by the step's own histogram.
  DispatchPolicy dispatch = DispatchPolicy::routing_aware;
  /// Who prices what is no mixture-of-experts layer: "synperf", "roofline", or "none" for an error.
  Others others = Others::synperf;
  /// Files that `foretoken-calibrate fit wave` wrote, for their GPU and format instead of what is
  /// inside the program.
  std::vector<std::string> profiles;

  static WaveConfig from_table(TableReader& options);
};

}  // namespace

template <>
struct EnumNames<Others> {
  static constexpr auto names = std::to_array<std::string_view>({"synperf", "roofline", "none"});
};

namespace {

WaveConfig WaveConfig::from_table(TableReader& options) {
  WaveConfig config;
  options.read("dispatch", config.dispatch);
  options.read("others", config.others);
  options.read("profiles", config.profiles);
  return config;
}

std::unique_ptr<Predictor> make_others(Others others) {
  const Value no_options;
  Diagnostics diagnostics;
  TableReader options(no_options, diagnostics, "wave");
  if (others == Others::synperf) return make_synperf(options);
  return others == Others::roofline ? make_roofline(options) : nullptr;
}

class Wave final : public Predictor {
 public:
  explicit Wave(const WaveConfig& config)
      : policy_(config.dispatch), others_(make_others(config.others)) {
    for (const std::string& path : config.profiles) {
      profiles_.push_back(read_wave_profile(load_json(path)));
    }
  }

  [[nodiscard]] Prediction predict(const Kernel& kernel, const GpuSpec& gpu) const override {
    const auto* moe = std::get_if<FusedMoe>(&kernel);
    const bool is_ours =
        moe != nullptr && gpu.tensor_ops_per_cycle_sm[static_cast<std::size_t>(moe->dtype)] > 0;
    if (is_ours) return price(*moe, gpu);
    if (others_ != nullptr) return others_->predict(kernel, gpu);
    throw PredictionError(
        fmt::format("{}: the wave predictor prices mixture-of-experts layers in formats that {} "
                    "multiplies; set others = \"synperf\" for the rest",
                    kernel_name(kernel), gpu.name));
  }

 private:
  [[nodiscard]] Prediction price(const FusedMoe& kernel, const GpuSpec& gpu) const {
    const MoeLayer layer = layer_of(kernel);
    std::vector<std::int64_t> histogram = busiest_rank_rows(kernel);
    histogram.resize(static_cast<std::size_t>(layer.experts));
    if (std::ranges::all_of(histogram, [](std::int64_t count) { return count == 0; })) {
      histogram.front() = 1;  // a part of an assignment, rounded away
    }
    MoeDispatcher& dispatcher = dispatcher_for(layer, gpu);
    const std::size_t chosen = dispatched(dispatcher, policy_, histogram, kernel.tokens);
    const double time_us = static_cast<double>(dispatcher.times_us(histogram)[chosen]);
    // A line through measured points may cross what memory allows, far from them.
    const Seconds weights =
        Bytes(active_experts(histogram) * layer.weight_bytes()) / gpu.dram_bandwidth;
    const DispatchSource& source = dispatcher.source();
    Prediction prediction;
    prediction.time = std::max(Seconds(time_us * 1e-6), weights + gpu.launch_latency);
    prediction.bound_by = roof_of(Kernel(kernel), gpu).bound_by;
    prediction.origin = source.origin;
    prediction.expected_error =
        source.origin == Origin::analytic ? analytic_error : source.expected_error;
    return prediction;
  }

  MoeDispatcher& dispatcher_for(const MoeLayer& layer, const GpuSpec& gpu) const {
    const Key key{gpu.name, gpu.file, layer.experts, layer.hidden, layer.intermediate, layer.dtype};
    const auto found = dispatchers_.find(key);
    if (found != dispatchers_.end()) return found->second;
    const auto own = std::ranges::find_if(profiles_, [&](const WaveProfile& profile) {
      return profile.gpu == gpu.name && profile.dtype == layer.dtype;
    });
    MoeDispatcher made =
        own != profiles_.end() ? MoeDispatcher(layer, gpu, *own) : MoeDispatcher(layer, gpu);
    return dispatchers_.emplace(key, std::move(made)).first->second;
  }

  using Key = std::tuple<std::string, std::string, int, std::int64_t, std::int64_t, DType>;

  DispatchPolicy policy_;
  std::unique_ptr<Predictor> others_;  // null: none
  std::vector<WaveProfile> profiles_;
  // No state that shows: a dispatcher answers the same whenever it is made.
  mutable std::map<Key, MoeDispatcher> dispatchers_;
};

}  // namespace

std::unique_ptr<Predictor> make_wave(TableReader& options) {
  return std::make_unique<Wave>(WaveConfig::from_table(options));
}

}  // namespace foretoken
