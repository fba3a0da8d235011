// The contract between pricing and learning. A family (bf16 GEMM, decode attention, …) says which
// kernels it covers, a first-order time T that is right in kind (roofs, L2, fixed cost), and the
// features of what is left. Training fits log(measured / T) on the features (calibration/train);
// pricing multiplies T by the exponential of the network's answer. Both call the same functions, so
// what was trained is what is priced.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/gpu.hpp"
#include "kernels/kernel.hpp"
#include "kernels/predictor.hpp"

namespace foretoken {

/// Features are written in order; their number and meaning are fixed by feature_names().
class FeatureSink {
 public:
  explicit FeatureSink(std::span<float> out) : out_(out) {}
  void add(double value) {
    FORETOKEN_CHECK(used_ < out_.size(), "more than {} features", out_.size());
    out_[used_++] = static_cast<float>(value);
  }
  [[nodiscard]] std::size_t used() const { return used_; }

 private:
  std::span<float> out_;
  std::size_t used_ = 0;
};

struct FirstOrder {
  Seconds time;
  Bound bound_by = Bound::launch;
};

/// Whose launches a family has: TensorRT-LLM's kernels are often its own, and it has tables of its
/// own, so that networks learn them apart.
enum class LaunchedBy : std::uint8_t { any, others, trtllm };
inline bool launched_by(LaunchedBy launcher, const Implementation& implementation) {
  const bool is_trtllm = implementation.framework == Framework::trtllm;
  return launcher == LaunchedBy::any || is_trtllm == (launcher == LaunchedBy::trtllm);
}

class EstimatorFamily {
 public:
  virtual ~EstimatorFamily() = default;

  /// "gemm_16bit": names the artifact, calibration/artifacts/<name>.*, and rows of every table.
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// Raise it when features or T change: an artifact of another version is refused.
  [[nodiscard]] virtual int version() const = 0;
  [[nodiscard]] virtual const std::vector<std::string>& feature_names() const = 0;

  [[nodiscard]] virtual bool covers(const Kernel& kernel, const GpuSpec& gpu) const = 0;
  /// Only for covered kernels. Throws PredictionError where the GPU has no path for the dtype.
  [[nodiscard]] virtual FirstOrder first_order(const Kernel& kernel, const GpuSpec& gpu) const = 0;
  /// Writes feature_names().size() features. No allocation: it is on the path of unseen kernels.
  virtual void features(const Kernel& kernel, const GpuSpec& gpu, FeatureSink& out) const = 0;
  /// Mean relative error of T alone where the family has no networks and is priced by it; 0 = the
  /// family is one to be trained.
  [[nodiscard]] virtual double first_order_error() const { return 0; }
  /// Of kernels whose rows are computed in tiles (a product's m): the largest number of rows that
  /// ends in the same row of tiles as `kernel`'s. Its price is that of them all (row_prices.hpp).
  /// 0: the family has no such rows.
  [[nodiscard]] virtual std::int64_t row_end(const Kernel& /*kernel*/,
                                             const GpuSpec& /*gpu*/) const {
    return 0;
  }
  /// `kernel` with so many rows, where row_end() is not 0, and as wide and deep as its tiles are.
  [[nodiscard]] virtual Kernel with_rows(const Kernel& kernel, std::int64_t /*rows*/) const {
    return kernel;
  }
  /// The next smaller of such kernels that it should cost no less than, along one of the two sizes
  /// that rows have beside their number: fewer columns (0) or a shorter sum (1). nullopt: none.
  [[nodiscard]] virtual std::optional<Kernel> next_smaller(const Kernel& /*kernel*/,
                                                           int /*size*/) const {
    return {};
  }
  /// Whether a larger problem costs no less, but for steps that first_order() has (larger_problems
  /// .hpp). False: measured launches get cheaper by rules that nobody has modelled.
  [[nodiscard]] virtual bool grows_with_problem() const { return true; }
  /// What is added to a price when the launch is cold (weights and KV from DRAM); tables are warm.
  [[nodiscard]] virtual Seconds cold_extra(const Kernel& kernel, const GpuSpec& gpu) const = 0;

  struct Substitute {
    Kernel kernel;
    double error = 0;  // of taking one for the other, relative
  };
  /// The launch that is priced in place of one that no table is like, where the family knows which
  /// takes as long (levelled_decodes.hpp). nullopt: `kernel` itself.
  [[nodiscard]] virtual std::optional<Substitute> substitute(const Kernel& /*kernel*/,
                                                             const GpuSpec& /*gpu*/) const {
    return {};
  }

  struct Parts {
    FirstOrder first;
    Seconds cold_extra;  // of a cold kernel
  };
  /// All of the above at once, features to `out`: what prices call. For families whose answers come
  /// from one plan that is not to be made three times.
  virtual Parts parts(const Kernel& kernel, const GpuSpec& gpu, FeatureSink& out) const {
    features(kernel, gpu, out);
    return {first_order(kernel, gpu), cold_extra(kernel, gpu)};
  }

  /// The first-order time, cold or warm as the kernel asks, in a form that never rises with a rate
  /// of `gpu`: with tasks on the SMs of `placed`, a part with as many, where placing them goes by
  /// rates. What parts are compared by (transfer.hpp).
  [[nodiscard]] virtual Seconds comparable_time(const Kernel& kernel, const GpuSpec& gpu,
                                                const GpuSpec& /*placed*/) const {
    const Seconds time = first_order(kernel, gpu).time;
    return cold_state(kernel).value_or(false) ? time + cold_extra(kernel, gpu) : time;
  }
};

/// All families (estimators/families.cpp), the first that covers a kernel wins.
const std::vector<const EstimatorFamily*>& estimator_families();

/// The family of a kernel, or nullptr.
const EstimatorFamily* family_of(const Kernel& kernel, const GpuSpec& gpu);

}  // namespace foretoken
