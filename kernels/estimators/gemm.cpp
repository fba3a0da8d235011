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
  GemmFamily(std::string_view name, int version, std::vector<DType> dtypes, Launcher launcher,
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
    const GemmWarmAndCold both = estimate_gemm_both(gemm, gpu, constants_of(gemm));
    const GemmEstimate& warm = both.warm;
    const Parts parts = {{Seconds(warm.total * 1e-6), bound_by(warm)}, cold_extra(both)};
    write_gemm_features(gemm, gpu, warm, out);
    write_task_features(gemm, gpu, parts.first.time, out);
    // Of the same shape, cold launches take longer than what the bytes from DRAM explain.
    constexpr double share_max = 3;
    const bool is_cold = gemm.implementation.is_cold;
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
    return padded(kernel, gpu).m;
  }
  [[nodiscard]] Kernel with_rows(const Kernel& kernel, std::int64_t rows) const override {
    Gemm gemm = std::get<Gemm>(kernel);
    gemm.m = rows;
    return gemm;
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
  Launcher launcher_;
  GemmConstants constants_, cublas_;  // the framework's own library, and cuBLAS
};

GemmConstants constants_16bit() {
  return {.tiles = TileRule::cublas,
          .k_loop_cycles = {6.6, 2.5},
          .tile_cycles = {680, 170},
          .load_share = {1.02, 6.3},
          .store_share = {2.6, 1.14},
          .tensor_efficiency = 1.0,
          .dram_efficiency = 0.86,
          .l2_efficiency = 0.74,
          .overlap = 2.2,
          .energy = {1.19, -0.48, 0.19},
          .sglang_energy = 1.175,
          .l2_share_monolithic = 0.87,
          .l2_share_split = 0.1,
          .reread_share = 0.65,
          .activation_copies = 6,
          .split_us = 2.5,
          .launch_factor = 1.06};
}

GemmConstants constants_fp8() {
  return {.tiles = TileRule::scaled_mm,
          .k_loop_cycles = {4.8, 2.5},
          .tile_cycles = {1300, 2490},
          .load_share = {1.72, 9.8},
          .store_share = {2.34, 1.73},
          .store_share_vllm = 11,
          .tensor_efficiency = 1.0,
          .dram_efficiency = 0.79,
          .l2_efficiency = 0.61,
          .overlap = 1.76,
          .energy = {1.11, -0.47, 0.33},
          .sglang_energy = 1.18,
          .l2_share_monolithic = 0.89,
          .l2_share_split = 0.53,
          .reread_share = 0.58,
          .activation_copies = 6,
          .launch_factor = 0.81,
          .quantise_us = {2.2, 1.8},
          .quantise_bytes = {4.8, 1.8},
          .quantise_row_ns = 3.1};
}

/// cuBLAS in fp8, where a framework names it or PyTorch calls it: the library's habits in 16 bit on
/// the energy of fp8. Not fitted to it; our H200 launches are 8 % off, by CUTLASS's constants 17 %.
GemmConstants constants_fp8_cublas() {
  GemmConstants constants = constants_16bit();
  const GemmConstants fp8 = constants_fp8();
  constants.energy = fp8.energy;
  constants.quantise_us = fp8.quantise_us;
  constants.quantise_bytes = fp8.quantise_bytes;
  constants.quantise_row_ns = fp8.quantise_row_ns;
  return constants;
}

GemmConstants constants_fp8_block() {
  return {.tiles = TileRule::deep_gemm,
          .k_loop_cycles = {7.3, 3.4},
          .tile_cycles = {730, 3270},
          .load_share = {1.36, 3.2},
          .store_share = {4.5, 1.4},
          .tensor_efficiency = 0.79,
          .dram_efficiency = 0.91,
          .l2_efficiency = 0.53,
          .energy = {1.88, -1.28, 0.66},
          .l2_share_monolithic = 0.96,
          .l2_share_split = 0.385,
          .l2_share_reread = 0.385,
          .reread_share = 0.28,
          .launch_factor = 1.24,
          .quantise_us = {9.0, 9.0},
          .quantise_bytes = {2.7, 2.7},
          .quantises_on_blackwell_only = true};
}

// Measured on the B200 alone: constants that it does not pin down are those of 16 bit.
GemmConstants constants_4bit() {
  return {.tiles = TileRule::cute_dsl,
          .k_loop_cycles = {8.0, 3.9},
          .tile_cycles = {860, 420},
          .load_share = {0.985, 2.85},
          .store_share = {2.3, 0.88},
          .tensor_efficiency = 0.69,
          .dram_efficiency = 1.15,
          .l2_efficiency = 0.64,
          .energy = {1.45, -0.39, 0.13},
          .l2_share_monolithic = 0.96,
          .l2_share_split = 0.376,
          .l2_share_reread = 0.376,
          .reread_share = 0.32,
          .launch_factor = 1.23,
          .quantise_us = {2.2, 4.6},
          .quantise_bytes = {5.7, 1.8},
          .quantise_row_ns = 0.27};
}

/// As 16 bit, on fewer bytes. That unpacking leaves products of many rows at 0.85 of what 16-bit
/// weights reach is a guess, not a measurement: no table has dense products of 4-bit weights. So is
/// the error: twice that of 16 bit on a GPU left out.
GemmConstants constants_weight_only() {
  GemmConstants constants = constants_16bit();
  constants.tensor_efficiency *= 0.85;
  constants.error = 0.2;
  return constants;
}

/// Of TensorRT-LLM's products, what its tables show beside others' of the same shapes: a launch
/// that quantises takes 5 to 7 us more before nvfp4, next to nothing before DeepGEMM.
GemmConstants of_trtllm(GemmConstants constants, double quantise_us) {
  constants.quantise_us = {quantise_us, quantise_us};
  constants.quantise_row_ns = 0;
  constants.quantises_on_blackwell_only = false;
  return constants;
}

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
  static const WeightOnlyFamily family("gemm_weight_only", 1, {}, Launcher::any,
                                       constants_weight_only(), constants_weight_only());
  return family;
}

const EstimatorFamily& gemm_16bit_family() {
  static const GemmFamily family("gemm_16bit", 4, {DType::bf16, DType::fp16}, Launcher::any,
                                 constants_16bit(), constants_16bit());
  return family;
}

const EstimatorFamily& gemm_fp8_family() {
  static const GemmFamily family("gemm_fp8", 4, {DType::fp8, DType::int8}, Launcher::others,
                                 constants_fp8(), constants_fp8_cublas());
  return family;
}

const EstimatorFamily& gemm_fp8_trtllm_family() {
  static const GemmFamily family("gemm_fp8_trtllm", 4, {DType::fp8, DType::int8}, Launcher::trtllm,
                                 constants_fp8_cublas(), constants_fp8_cublas());
  return family;
}

const EstimatorFamily& gemm_fp8_block_trtllm_family() {
  static const GemmFamily family("gemm_fp8_block_trtllm", 3, {DType::fp8_block}, Launcher::trtllm,
                                 of_trtllm(constants_fp8_block(), 0.5),
                                 of_trtllm(constants_fp8_block(), 0.5));
  return family;
}

const EstimatorFamily& gemm_4bit_trtllm_family() {
  static const GemmFamily family("gemm_4bit_trtllm", 3, {DType::nvfp4, DType::mxfp4},
                                 Launcher::trtllm, of_trtllm(constants_4bit(), 8),
                                 of_trtllm(constants_4bit(), 8));
  return family;
}

const EstimatorFamily& gemm_fp8_block_family() {
  static const GemmFamily family("gemm_fp8_block", 3, {DType::fp8_block}, Launcher::others,
                                 constants_fp8_block(), constants_fp8_block());
  return family;
}

const EstimatorFamily& gemm_4bit_family() {
  static const GemmFamily family("gemm_4bit", 3, {DType::nvfp4, DType::mxfp4}, Launcher::others,
                                 constants_4bit(), constants_4bit());
  return family;
}

}  // namespace foretoken
