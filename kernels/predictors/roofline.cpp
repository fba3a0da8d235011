// The roofline: a kernel takes as long as its busiest resource, each working at its full rate, plus
// one launch. It knows nothing of tiles, waves, occupancy or latency, so it is an optimistic bound;
// the efficiencies stay at 1 unless a scenario asks for a rule of thumb ("80 % of peak").
#include "kernels/predictor.hpp"
#include "kernels/roof.hpp"

namespace foretoken {
namespace {

struct RooflineConfig {
  RoofShares shares;  // that kernels reach: tensor_efficiency, dram_efficiency

  static RooflineConfig from_table(TableReader& options) {
    RooflineConfig config;
    const auto read_share = [&](std::string_view key, double& share) {
      options.read(key, share);
      options.expect(key, share > 0 && share <= 1, "must be above 0 and at most 1");
    };
    read_share("tensor_efficiency", config.shares.tensor);
    read_share("dram_efficiency", config.shares.dram);
    return config;
  }
};

class Roofline final : public Predictor {
 public:
  explicit Roofline(const RooflineConfig& config) : config_(config) {}

  [[nodiscard]] Prediction predict(const Kernel& kernel, const GpuSpec& gpu) const override {
    const Roof roof = roof_of(kernel, gpu, true, config_.shares);
    const Seconds launch = gpu.launch_latency;
    return {roof.time + launch, launch > roof.time ? Bound::launch : roof.bound_by,
            Origin::analytic};
  }

 private:
  RooflineConfig config_;
};

}  // namespace

std::unique_ptr<Predictor> make_roofline(TableReader& options) {
  return std::make_unique<Roofline>(RooflineConfig::from_table(options));
}

}  // namespace foretoken
