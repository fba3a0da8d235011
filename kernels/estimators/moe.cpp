// Fused mixture-of-experts layers by closed or grouped kernels: TensorRT-LLM's for Blackwell in
// every format, grouped CUTLASS products, and without networks Marlin's and DeepGEMM's. CuTe's
// experts, which no table has, are priced as CUTLASS: grouped persistent products too. Triton's,
// whose tiles are known, are in triton_moe.cpp.
//
// Cold: the tables repeat one layer's weights, which stay in the L2 only where the active experts
// fit, at a few tokens on GPUs with a large L2. There a layer of a real model, whose weights were
// read a step ago, pays the DRAM instead. Activations come from the kernel before and are warm in
// both.
#include <algorithm>
#include <cmath>

#include "kernels/estimators/moe_model.hpp"
#include "kernels/estimators/task_features.hpp"

namespace foretoken {
namespace {

/// Less is hidden behind the products where these are what limits (as for matrix products).
constexpr double cold_share_math_bound = 0.3;

/// Logarithms of ratios that may be 0 stop here: e^-7 of anything is nothing.
double log_ratio(double value) { return std::log(std::max(value, 1e-3)); }

/// How full the last round over the SMs is, over all rounds.
double wave_efficiency(double ctas, int sms) {
  const double waves = ctas / sms;
  return waves > 0 ? waves / std::ceil(waves) : 0;
}

const std::vector<std::string> moe_names =
    with_task_names({"launch_share",    "weights_share",     "math_share",      "latency_share",
                     "handed_on_share", "log_mma_loads",     "log_rows_expert", "log_active",
                     "active_share",    "log_imbalance",     "log_padding",     "log_padding_16",
                     "log_padding_64",  "log_padding_128",   "log_tile_rows",   "log_tile_columns",
                     "log_topk",        "log_held",          "log_rows_remote", "log_ctas_up",
                     "log_ctas_down",   "wave_up",           "wave_down",       "weights_hot",
                     "log_working_set", "log_handed_on_set", "is_sglang",       "is_block_scaled",
                     "is_4_bit",        "is_16_bit",         "has_tied_groups", "has_gate",
                     "is_width_128",    "is_width_64",       "log_tokens"});

void write_features(const FusedMoe& kernel, const GpuSpec& gpu, const MoeModel& model,
                    FeatureSink& out) {
  const double time = model.time();
  out.add(model.launch / time);
  out.add(model.weights / time);
  out.add(model.math / time);
  out.add(model.latency / time);
  out.add(model.handed_on / time);
  out.add(log_ratio(model.mma / model.loads));

  const ExpertLoad& load = model.load;
  const double active = std::max(load.active, 1e-3);
  const double assignments = std::max(load.assignments, 1e-3);
  out.add(log_ratio(assignments / active));
  out.add(log_ratio(active));
  out.add(active / load.held);
  out.add(log_ratio(load.largest * active / assignments));
  out.add(log_ratio(load.tiles_of(model.tile.rows) * model.tile.rows / assignments));
  for (const int rows : {16, 64, 128}) out.add(log_ratio(load.tiles_of(rows) * rows / assignments));
  out.add(std::log(model.tile.rows));
  out.add(std::log(model.tile.columns));
  out.add(std::log(kernel.topk));
  out.add(std::log(load.held));
  out.add(log_ratio(static_cast<double>(kernel.tokens) * kernel.topk / assignments));

  out.add(log_ratio(model.ctas_up / gpu.sm_count));
  out.add(log_ratio(model.ctas_down / gpu.sm_count));
  out.add(wave_efficiency(model.ctas_up, gpu.sm_count));
  out.add(wave_efficiency(model.ctas_down, gpu.sm_count));
  out.add(model.weights_hot);
  out.add(log_ratio(model.working_set));
  out.add(log_ratio(model.handed_on_set));

  const auto flag = [&](bool is) { out.add(is ? 1.0 : 0.0); };
  const double size = bytes_per_element(kernel.dtype);
  flag(kernel.implementation.framework == Framework::sglang);
  flag(kernel.dtype == DType::fp8_block);
  flag(size < 1);
  flag(size >= 2);
  flag(has_tied_groups(kernel));
  flag(model.products > 2);
  flag(std::fmod(model.width, 128) == 0);
  flag(std::fmod(model.width, 64) == 0);
  out.add(log_ratio(static_cast<double>(kernel.tokens)));
}

class MoeFamily final : public EstimatorFamily {
 public:
  MoeFamily(std::string_view name, MoeStyle style, const MoeConstants& constants,
            LaunchedBy launcher = LaunchedBy::any, double first_order_error = 0)
      : name_(name),
        style_(style),
        constants_(constants),
        launcher_(launcher),
        error_(first_order_error) {}

  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] int version() const override { return 3; }
  [[nodiscard]] const std::vector<std::string>& feature_names() const override { return moe_names; }

  [[nodiscard]] bool covers(const Kernel& kernel, const GpuSpec& gpu) const override {
    const auto* moe = std::get_if<FusedMoe>(&kernel);
    if (moe == nullptr || moe->dtype == DType::fp32 || moe_style(*moe, gpu) != style_) return false;
    return launched_by(launcher_, moe->implementation);
  }

  [[nodiscard]] double first_order_error() const override { return error_; }

  [[nodiscard]] FirstOrder first_order(const Kernel& kernel, const GpuSpec& gpu) const override {
    return first_order(price(kernel, gpu));
  }

  void features(const Kernel& kernel, const GpuSpec& gpu, FeatureSink& out) const override {
    write(kernel, gpu, price(kernel, gpu), out);
  }

  [[nodiscard]] Seconds cold_extra(const Kernel& kernel, const GpuSpec& gpu) const override {
    return cold_extra(price(kernel, gpu));
  }

  [[nodiscard]] Parts parts(const Kernel& kernel, const GpuSpec& gpu,
                            FeatureSink& out) const override {
    const MoeModel model = price(kernel, gpu);
    write(kernel, gpu, model, out);
    return {first_order(model), cold_extra(model)};
  }

  /// Weights from DRAM beside the products, where what coldness adds has a step.
  [[nodiscard]] Seconds comparable_time(const Kernel& kernel, const GpuSpec& gpu,
                                        const GpuSpec& /*placed*/) const override {
    MoeModel model = price(kernel, gpu);
    if (cold_state(kernel).value_or(false)) model.weights = model.weights_cold;
    return Seconds(model.time());
  }

 private:
  static FirstOrder first_order(const MoeModel& model) {
    return {Seconds(model.time()), model.bound()};
  }

  static Seconds cold_extra(const MoeModel& model) {
    const double share = model.math > model.weights_cold ? cold_share_math_bound : 1;
    return Seconds(share * std::max(model.weights_cold - model.weights, 0.0));
  }

  static void write(const Kernel& kernel, const GpuSpec& gpu, const MoeModel& model,
                    FeatureSink& out) {
    write_features(std::get<FusedMoe>(kernel), gpu, model, out);
    write_task_features(kernel, gpu, Seconds(model.time()), out);
  }

  /// The slow path that SGLang's 16-bit CUTLASS experts take on Hopper: 0.1 of the tensor peak
  /// whatever the shape.
  [[nodiscard]] MoeModel price(const Kernel& kernel, const GpuSpec& gpu) const {
    const auto& moe = std::get<FusedMoe>(kernel);
    MoeConstants constants = constants_;
    const bool is_slow = style_ == MoeStyle::cutlass && bytes_per_element(moe.dtype) >= 2 &&
                         moe.implementation.framework == Framework::sglang;
    if (is_slow) constants.issue *= 8.3;
    return moe_model(moe, gpu, style_, constants);
  }

  std::string_view name_;
  MoeStyle style_;
  MoeConstants constants_;
  LaunchedBy launcher_;
  double error_;
};

}  // namespace

// Constants: 12,000 rows of each family drawn from the tables, GPUs and frameworks weighing alike;
// least soft-absolute error of log T, held near physical guesses. T alone is then within 16 %
// (cutlass) to 22 %.
const EstimatorFamily& moe_trtllm_family() {
  static const MoeFamily family("moe_trtllm", MoeStyle::trtllm,
                                {.launch_cycles_vllm = 45e3,
                                 .launch_cycles_sglang = 47e3,
                                 .dram_share = 0.89,
                                 .l2_share = 0.7,
                                 .issue = 1.5,
                                 .load_share = 0.15,
                                 .step_cycles = 30,
                                 .handed_on = 2.7});
  return family;
}

/// Without networks. Fitted to the 1,722 int4_wo rows of Marlin in AIConfigurator's moe_4bit_perf
/// whose experts are balanced and on one rank or cut by tensor parallelism (A100, H100, H200, B200,
/// L40S; vLLM and SGLang): T is within 9 to 19 % of them by GPU and framework. With expert
/// parallelism, which had no part in it, within 12 to 31 %.
const EstimatorFamily& moe_marlin_family() {
  static const MoeFamily family("moe_marlin", MoeStyle::marlin,
                                {.launch_cycles_vllm = 77.5e3,
                                 .launch_cycles_sglang = 77.5e3,
                                 .dram_share = 0.8,
                                 .l2_share = 0.7,
                                 .issue = 1.25,
                                 .load_share = 0.69,
                                 .step_cycles = 0,
                                 .handed_on = 2.3,
                                 .ops_per_cycle_max = 2125},
                                LaunchedBy::any, 0.2);
  return family;
}

/// Without networks: no table has them in vLLM or SGLang. Products and streaming are fitted to the
/// 24 times of DeepSeek-V3's layer on an H100 that vllm-project/vllm#13932 publishes (128 to 2,048
/// tokens, tensor parallelism of 1 to 8): with room for all experts they agree within 2 %. That
/// layer sorted its rows by PyTorch operations. What is left of them since #20903 is not measured:
/// buffers pass once at bandwidth, launches are CUTLASS's and four for sorting.
const EstimatorFamily& moe_deep_gemm_family() {
  static const MoeFamily family("moe_deep_gemm", MoeStyle::deep_gemm,
                                {.launch_cycles_vllm = 80e3,
                                 .launch_cycles_sglang = 93e3,
                                 .dram_share = 0.9,
                                 .l2_share = 0.7,
                                 .issue = 1.6,
                                 .load_share = 0,
                                 .step_cycles = 0,
                                 .handed_on = 1.0},
                                LaunchedBy::any, 0.2);
  return family;
}

/// Without networks. Launches and streaming: wideep_generation_moe_perf of an H100 (SGLang,
/// DeepSeek-V3's experts behind DeepEP; 4 to 64 ranks, up to 128 tokens a rank), whose median it is
/// within 10 % of, and on an H200 and a B200 alike, as long as ranks have equal shares: the table's
/// are drawn by power laws and of the busiest. Products: as moe_deep_gemm. wideep_context_moe_perf
/// waits for the host before each call (0.3 ms), which no price has.
const EstimatorFamily& moe_deep_gemm_routed_family() {
  static const MoeFamily family("moe_deep_gemm_routed", MoeStyle::deep_gemm_routed,
                                {.launch_cycles_vllm = 46e3,
                                 .launch_cycles_sglang = 46e3,
                                 .dram_share = 0.93,
                                 .l2_share = 0.7,
                                 .issue = 1.6,
                                 .load_share = 0,
                                 .step_cycles = 0,
                                 .handed_on = 1.0},
                                LaunchedBy::any, 0.2);
  return family;
}

/// TensorRT-LLM's own build of grouped CUTLASS products, and its DeepGEMM on Blackwell. Constants:
/// 4,000 rows of its tables (A100, H100, H200, B200, L40S); T alone is within 22 %.
const EstimatorFamily& moe_cutlass_trtllm_family() {
  static const MoeFamily family("moe_cutlass_trtllm", MoeStyle::cutlass,
                                {.launch_cycles_vllm = 55e3,
                                 .launch_cycles_sglang = 55e3,
                                 .dram_share = 0.83,
                                 .l2_share = 0.83,
                                 .issue = 1.05,
                                 .load_share = 0,
                                 .step_cycles = 190,
                                 .handed_on = 3.9},
                                LaunchedBy::trtllm);
  return family;
}

const EstimatorFamily& moe_cutlass_family() {
  static const MoeFamily family("moe_cutlass", MoeStyle::cutlass,
                                {.launch_cycles_vllm = 53e3,
                                 .launch_cycles_sglang = 66e3,
                                 .dram_share = 1.0,
                                 .l2_share = 0.7,
                                 .issue = 1.35,
                                 .load_share = 0.3,
                                 .step_cycles = 150,
                                 .handed_on = 4.8},
                                LaunchedBy::others);
  return family;
}

}  // namespace foretoken
