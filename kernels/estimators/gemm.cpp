// Matrix products, one family a format: libraries, tiles and the quantisation before the product
// differ so much that one network over all formats is worse on each. Frameworks are told apart by a
// feature, but for TensorRT-LLM's below 16 bit, which quantises by launches of its own and has
// tables of its own: families of their own. Formats nobody has measured are priced by the nearest
// relative: fp16 as bf16 (same tensor rate and libraries), int8 as fp8 (same bytes and CUTLASS
// kernels; A100's int8 takes the tiles of compute capability 8.9), mxfp4 as nvfp4 (scales are half
// as many). fp32 is not covered. fp8_block in Triton is priced as DeepGEMM: its only rows are bound
// by the host. Weights that are narrow in memory alone (int4 and int8 with 16-bit activations, and
// 4-bit formats on GPUs without a path for them) are a family without networks: nobody has
// published a table.
#include <algorithm>

#include "kernels/estimators/gemm_constants.hpp"
#include "kernels/estimators/gemm_model.hpp"
#include "kernels/estimators/gemm_tiles.hpp"
#include "kernels/estimators/task_features.hpp"
#include "kernels/kernel_work.hpp"

namespace foretoken {
namespace {

/// Operands that a repeated launch finds in L2 come later when they are in DRAM: our H200 launches,
/// cold against AIConfigurator's, where bandwidth is no limit (0.1 to 0.4 us).
constexpr double cold_latency_us = 0.3;

class GemmFamily : public EstimatorFamily {
 public:
  GemmFamily(std::string_view name, int version, std::vector<DType> dtypes, LaunchedBy launcher,
             const GemmConstants& constants, const GemmConstants& cublas)
      : name_(name),
        version_(version),
        dtypes_(std::move(dtypes)),
        launcher_(launcher),
        constants_(constants),
        cublas_(cublas) {}

  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] int version() const override { return version_; }
  [[nodiscard]] const std::vector<std::string>& feature_names() const override {
    return gemm_feature_names();
  }

  /// By format alone: a GPU without a path for it is a PredictionError of first_order().
  [[nodiscard]] bool covers(const Kernel& kernel, const GpuSpec&) const override {
    const auto* gemm = std::get_if<Gemm>(&kernel);
    if (gemm == nullptr || std::ranges::find(dtypes_, gemm->dtype) == dtypes_.end()) return false;
    return launched_by(launcher_, gemm->implementation);
  }

  /// Of a family without networks.
  [[nodiscard]] double first_order_error() const override { return constants_.error; }

  [[nodiscard]] FirstOrder first_order(const Kernel& kernel, const GpuSpec& gpu) const override {
    const Gemm gemm = padded(kernel, gpu);
    const GemmEstimate e = estimate_gemm(gemm, gpu, constants_of(gemm), false);
    return {Seconds(e.total * 1e-6), bound_by(e)};
  }

  void features(const Kernel& kernel, const GpuSpec& gpu, FeatureSink& out) const override {
    parts(kernel, gpu, out);
  }

  [[nodiscard]] Seconds cold_extra(const Kernel& kernel, const GpuSpec& gpu) const override {
    const Gemm gemm = padded(kernel, gpu);
    return cold_extra(estimate_gemm_both(gemm, gpu, constants_of(gemm)));
  }

  [[nodiscard]] Parts parts(const Kernel& kernel, const GpuSpec& gpu,
                            FeatureSink& out) const override {
    const Gemm gemm = padded(kernel, gpu);
    const bool is_cold = gemm.implementation.is_cold;
    GemmWarmAndCold both;
    if (is_cold) {
      both = estimate_gemm_both(gemm, gpu, constants_of(gemm));
    } else {
      both.warm = estimate_gemm(gemm, gpu, constants_of(gemm), false);
    }
    const GemmEstimate& warm = both.warm;
    const Parts parts = {{Seconds(warm.total * 1e-6), bound_by(warm)},
                         is_cold ? cold_extra(both) : Seconds(0)};
    write_gemm_features(gemm, gpu, warm, out);
    write_task_features(gemm, gpu, parts.first.time, out);
    // Of the same shape, cold launches take longer than what the bytes from DRAM explain.
    constexpr double share_max = 3;
    out.add(is_cold);
    out.add(is_cold ? std::min(parts.cold_extra / parts.first.time, share_max) : 0);
    return parts;
  }

  [[nodiscard]] Seconds comparable_time(const Kernel& kernel, const GpuSpec& gpu,
                                        const GpuSpec& /*placed*/) const override {
    const Gemm gemm = padded(kernel, gpu);
    const bool is_cold = gemm.implementation.is_cold;
    return Seconds(estimate_gemm(gemm, gpu, constants_of(gemm), is_cold).total * 1e-6);
  }

  [[nodiscard]] std::int64_t row_end(const Kernel& kernel, const GpuSpec& gpu) const override {
    return padded(with_rows(kernel, std::get<Gemm>(kernel).m), gpu).m;
  }
  [[nodiscard]] Kernel with_rows(const Kernel& kernel, std::int64_t rows) const override {
    Gemm gemm = std::get<Gemm>(kernel);
    gemm.m = rows;
    gemm.n = padded_side(gemm.n);
    gemm.k = padded_side(gemm.k);
    return gemm;
  }
  [[nodiscard]] std::optional<Kernel> next_smaller(const Kernel& kernel, int size) const override {
    Gemm gemm = std::get<Gemm>(kernel);
    std::int64_t& side = size == 0 ? gemm.n : gemm.k;
    side = smaller_side(side);
    return side > 0 ? std::optional<Kernel>(gemm) : std::nullopt;
  }

 private:
  /// The product as its tiles see it: with the rows that fill the last row of them.
  [[nodiscard]] Gemm padded(const Kernel& kernel, const GpuSpec& gpu) const {
    Gemm gemm = std::get<Gemm>(kernel);
    FORETOKEN_CHECK(gemm.m > 0 && gemm.n > 0 && gemm.k > 0, "gemm of {} x {} x {}", gemm.m, gemm.n,
                    gemm.k);
    gemm.m = padded_rows(tile_rule(gemm, constants_), gemm, copy_engine(gpu));
    return gemm;
  }

  [[nodiscard]] const GemmConstants& constants_of(const Gemm& gemm) const {
    return tile_rule(gemm, constants_) == TileRule::cublas ? cublas_ : constants_;
  }

  [[nodiscard]] static Seconds cold_extra(const GemmWarmAndCold& both) {
    const double extra = both.cold.total - both.warm.total;
    return Seconds((std::max(extra, 0.0) + cold_latency_us * both.warm.hot) * 1e-6);
  }

  static Bound bound_by(const GemmEstimate& e) {
    const std::pair<double, Bound> parts[] = {
        {e.launch + e.quantise + e.reduction + e.tile_latency, Bound::launch},
        {std::max({e.math, e.power, e.tile_math}), Bound::tensor},
        {e.dram, Bound::dram},
        {std::max(e.l2, e.tile_load), Bound::l2},
    };
    return std::ranges::max_element(parts, {}, &std::pair<double, Bound>::first)->second;
  }

  std::string_view name_;
  int version_;
  std::vector<DType> dtypes_;
  LaunchedBy launcher_;
  GemmConstants constants_, cublas_;  // the framework's own library, and cuBLAS
};

class WeightOnlyFamily final : public GemmFamily {
 public:
  using GemmFamily::GemmFamily;

  [[nodiscard]] bool covers(const Kernel& kernel, const GpuSpec& gpu) const override {
    const auto* gemm = std::get_if<Gemm>(&kernel);
    return gemm != nullptr && product_format(gemm->dtype, gpu) != gemm->dtype;
  }
};

}  // namespace

const EstimatorFamily& gemm_weight_only_family() {
  static const WeightOnlyFamily family("gemm_weight_only", 1, {}, LaunchedBy::any,
                                       constants_weight_only(), constants_weight_only());
  return family;
}

const EstimatorFamily& gemm_16bit_family() {
  static const GemmFamily family("gemm_16bit", 4, {DType::bf16, DType::fp16}, LaunchedBy::any,
                                 constants_16bit(), constants_16bit());
  return family;
}

const EstimatorFamily& gemm_fp8_family() {
  static const GemmFamily family("gemm_fp8", 4, {DType::fp8, DType::int8}, LaunchedBy::others,
                                 constants_fp8(), constants_fp8_cublas());
  return family;
}

const EstimatorFamily& gemm_fp8_trtllm_family() {
  static const GemmFamily family("gemm_fp8_trtllm", 4, {DType::fp8, DType::int8},
                                 LaunchedBy::trtllm, constants_fp8_cublas(),
                                 constants_fp8_cublas());
  return family;
}

const EstimatorFamily& gemm_fp8_block_trtllm_family() {
  static const GemmFamily family("gemm_fp8_block_trtllm", 3, {DType::fp8_block}, LaunchedBy::trtllm,
                                 of_trtllm(constants_fp8_block(), 0.5),
                                 of_trtllm(constants_fp8_block(), 0.5));
  return family;
}

const EstimatorFamily& gemm_4bit_trtllm_family() {
  static const GemmFamily family("gemm_4bit_trtllm", 3, {DType::nvfp4, DType::mxfp4},
                                 LaunchedBy::trtllm, of_trtllm(constants_4bit(), 8),
                                 of_trtllm(constants_4bit(), 8));
  return family;
}

const EstimatorFamily& gemm_fp8_block_family() {
  static const GemmFamily family("gemm_fp8_block", 3, {DType::fp8_block}, LaunchedBy::others,
                                 constants_fp8_block(), constants_fp8_block());
  return family;
}

const EstimatorFamily& gemm_4bit_family() {
  static const GemmFamily family("gemm_4bit", 3, {DType::nvfp4, DType::mxfp4}, LaunchedBy::others,
                                 constants_4bit(), constants_4bit());
  return family;
}

}  // namespace foretoken
