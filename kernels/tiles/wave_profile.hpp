// What measurements of a fused mixture-of-experts kernel say about each of its configurations on
// one GPU in one number format: constants of the two-level wave model (wave_terms.hpp). The first
// level holds for any layer; the second is that, corrected for a layer that was profiled itself,
// and what both leave over there (wave_residual.hpp). calibration/fit/wave_fit.cpp makes it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/gpu.hpp"
#include "kernels/tiles/wave_residual.hpp"
#include "kernels/tiles/wave_terms.hpp"
#include "sim/base/value.hpp"

namespace foretoken {

/// Constants in us a unit of each term.
struct WaveConstants {
  int tile = 0;  // index into WaveProfile::tiles
  WaveTerms us{};
};

/// A layer that was profiled. Only its contenders: configurations that came near the best somewhere
/// (comparing more finds more accidental winners than better ones).
struct LayerConstants {
  std::string name;
  MoeLayer layer;
  std::vector<WaveConstants> contenders;
  WaveResidual residual;  // weights in the contenders' order
};

struct WaveProfile {
  std::string gpu;  // a specification's name
  DType dtype = DType::bf16;
  std::vector<MoeTile> tiles;
  std::vector<WaveConstants> any_layer;  // contenders of any profiled layer
  std::vector<LayerConstants> layers;
  /// Mean relative error of predicted times on held-out points of profiled layers, and of layers
  /// left out altogether.
  double error_layer = 0, error_any = 0;

  [[nodiscard]] const LayerConstants* find(const MoeLayer& layer) const;
};

/// The profile inside the program for a GPU and format, or nullptr (calibration/artifacts/wave).
/// bf16 and fp16 are one. Not for use from several threads at once.
const WaveProfile* find_wave_profile(const GpuSpec& gpu, DType dtype);

/// `provenance`: where it comes from and how well it does, in order.
std::string write_wave_profile(const WaveProfile& profile, const ValueObject& provenance);
/// Throws ConfigError.
WaveProfile read_wave_profile(const Value& root);

}  // namespace foretoken
