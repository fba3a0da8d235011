// The contract of every predictor: how long one kernel takes on one GPU, what bounds it, and where
// the number comes from. Predictors are pure: same kernel and GPU, same answer; no clock, no state
// that shows. Collectives are not theirs (kernels/communication/collectives.hpp).
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string_view>

#include "hardware/gpu.hpp"
#include "kernels/kernel.hpp"
#include "sim/base/registry.hpp"
#include "sim/base/table_reader.hpp"

namespace foretoken {

enum class Bound { tensor, fma, xu, dram, l2, shared, launch, network };
template <>
struct EnumNames<Bound> {
  static constexpr auto names = std::to_array<std::string_view>(
      {"tensor", "fma", "xu", "dram", "l2", "shared", "launch", "network"});
};

/// analytic: a formula over the specification. learned: a model trained on this GPU among others.
/// measured: a table of launches on this very GPU. transferred: a model trained on other GPUs,
/// applied to this one's specification. adapted: that, corrected by a few launches on this GPU.
enum class Origin { analytic, learned, measured, transferred, adapted };
template <>
struct EnumNames<Origin> {
  static constexpr auto names = std::to_array<std::string_view>(
      {"analytic", "learned", "measured", "transferred", "adapted"});
};

struct Prediction {
  Seconds time;
  Bound bound_by = Bound::launch;
  Origin origin = Origin::analytic;
  /// Expected relative error of `time` (0.08 = 8 %), from held-out data of the kernel's family;
  /// 0 = the predictor does not know.
  double expected_error = 0;
};

class Predictor {
 public:
  virtual ~Predictor() = default;

  /// Time of one launch, L2 cold, inside a CUDA graph. Throws PredictionError for a kernel it knows
  /// nothing about (a dtype the GPU has no path for, a collective).
  [[nodiscard]] virtual Prediction predict(const Kernel& kernel, const GpuSpec& gpu) const = 0;
};

using PredictorFactory = std::function<std::unique_ptr<Predictor>(TableReader& options)>;

/// The built-in predictors (predictors/catalog.cpp).
Registry<PredictorFactory> predictor_catalog();

}  // namespace foretoken
