#include "kernels/estimators/attention_model.hpp"

#include <algorithm>
#include <bit>

#include "hardware/compute_capability.hpp"
#include "kernels/tasks/decomposition.hpp"

namespace foretoken {
namespace {

constexpr double overlap_power = 1.7;    // fitted; 1.2 to 3 differ by less than 1 % of error
constexpr double clock_reference = 2e9;  // Hz

AttentionCode code_of(KernelSource source) {
  switch (source) {
    case KernelSource::flash_attention_3:
    case KernelSource::flashinfer_fa3:
      return AttentionCode::fa3;
    case KernelSource::flash_attention_4:
      return AttentionCode::fa4;
    case KernelSource::flashinfer_fa2:
    case KernelSource::flashinfer_decode:
    case KernelSource::flashinfer_decode_tc:
      return AttentionCode::flashinfer;
    case KernelSource::trtllm:
      return AttentionCode::trtllm;
    case KernelSource::triton:
      return AttentionCode::triton;
    default:
      return AttentionCode::fa2;
  }
}

bool is_attention_source(KernelSource source) {
  return source == KernelSource::flash_attention_2 || code_of(source) != AttentionCode::fa2;
}

/// Keys that the mean sequence's queries see together with a window; without one the sums know.
double windowed_keys(const LoadSums& sums, const AttentionLaunch& shape) {
  const double before = shape.context - shape.queries;
  const double growing = std::clamp(shape.window - 1 - before, 0.0, shape.queries);
  const double keys =
      growing * before + growing * (growing + 1) / 2 + (shape.queries - growing) * shape.window;
  // Sequences of unequal length see more pairs than equal ones with the same sums; the window
  // bounds what a query sees whatever its sequence.
  const double all = shape.queries * before + shape.queries * (shape.queries + 1) / 2;
  const double unevenness = sums.causal_pairs / (shape.sequences * all);
  return std::min(keys / shape.queries * std::max(unevenness, 1.0), shape.window);
}

}  // namespace

AttentionSetting attention_setting(const Kernel& kernel, const GpuSpec& gpu) {
  const auto& attention = std::get<Attention>(kernel);
  Implementation implementation = attention.implementation;
  if (!is_attention_source(implementation.source)) {
    if (implementation.source == KernelSource::automatic) {
      implementation = resolve_implementation(kernel, gpu);
    } else {
      implementation.source = KernelSource::flash_attention_2;  // a source of other kernels
    }
  }
  AttentionSetting setting;
  setting.code = code_of(implementation.source);
  setting.is_sglang = implementation.framework == Framework::sglang;
  setting.is_trtllm = implementation.framework == Framework::trtllm &&
                      implementation.source == KernelSource::trtllm;
  setting.is_bare = implementation.framework == Framework::pytorch;
  setting.packs_heads = implementation.source != KernelSource::flashinfer_fa3;
  setting.asks_cuda_cores = implementation.source == KernelSource::flashinfer_decode;
  setting.asks_tensor_cores = implementation.source == KernelSource::flashinfer_decode_tc;
  return setting;
}

double encoder_padding(const Attention& kernel, const AttentionSetting& setting) {
  const auto up_to = [&](int step) { return (kernel.head_dim + step - 1) / step * step; };
  int width = up_to(32);  // FlashAttention-2 and 3: 64, 96, 128 …
  if (setting.code == AttentionCode::fa4) width = up_to(16);
  if (setting.code == AttentionCode::triton) {
    width = static_cast<int>(std::bit_ceil(static_cast<unsigned>(kernel.head_dim)));
  }
  return static_cast<double>(width) / kernel.head_dim;
}

double encoder_rate(const Attention& kernel, const AttentionSetting& setting, const GpuSpec& gpu,
                    double peak) {
  // TensorRT-LLM has no kernel of Blackwell's own for heads that are no multiple of 16 (Qwen's of
  // 72): those run on instructions of Ampere's, whose rate a SM has not changed since.
  constexpr double ampere_ops = 1024;
  const bool is_odd = kernel.head_dim % 16 != 0;
  const bool falls_back =
      setting.code == AttentionCode::trtllm && is_datacentre_blackwell(gpu) && is_odd;
  return falls_back ? std::min(peak, ampere_ops) : peak;
}

bool is_pure(const AttentionLoad& load, bool is_decode) {
  return (load.prefill.sequences == 0) == is_decode && (load.decode.sequences > 0) == is_decode;
}

bool runs_as(const Attention& kernel, const AttentionSetting& setting, bool is_decode) {
  if (!kernel.load.verifies_drafts()) return is_pure(kernel.load, is_decode);
  if (kernel.load.prefill.sequences > 0) return false;
  const bool packs_queries = setting.code == AttentionCode::fa3 ||
                             setting.code == AttentionCode::fa4 ||
                             setting.code == AttentionCode::trtllm ||
                             (setting.code == AttentionCode::fa2 && setting.is_sglang);
  return packs_queries == is_decode;
}

AttentionLaunch decode_shape(const Attention& kernel) {
  AttentionLaunch shape = attention_shape(kernel);
  if (!kernel.load.verifies_drafts()) return shape;
  shape.query_heads *= shape.queries;
  shape.group *= shape.queries;
  return shape;
}

AttentionLaunch attention_shape(const Attention& kernel, bool with_window) {
  const AttentionLoad& load = kernel.load;
  const LoadSums& sums = load.prefill.sequences > 0 ? load.prefill : load.decode;
  FORETOKEN_CHECK(load.prefill.sequences == 0 || load.decode.sequences == 0,
                  "{} prefill and {} decode sequences in one launch", load.prefill.sequences,
                  load.decode.sequences);
  FORETOKEN_CHECK(sums.sequences > 0 && sums.query_tokens > 0, "no queries");
  AttentionLaunch shape;
  shape.sequences = static_cast<double>(sums.sequences);
  shape.queries = static_cast<double>(sums.query_tokens) / shape.sequences;
  shape.context = static_cast<double>(sums.context_tokens) / shape.sequences;
  shape.context_max = static_cast<double>(sums.context_tokens_max);
  shape.query_heads = kernel.query_heads;
  shape.kv_heads = kernel.kv_heads;
  shape.head_dim = kernel.head_dim;
  shape.group = shape.query_heads / shape.kv_heads;
  shape.window = with_window ? static_cast<double>(kernel.window) : 0;
  shape.kv_bytes = bytes_per_element(kernel.kv_dtype);
  shape.has_small_cache = shape.kv_bytes < 2;
  if (!kernel.causal) {
    shape.keys = shape.window > 0 ? std::min(shape.context, shape.window) : shape.context;
  } else if (shape.window > 0) {
    shape.keys = windowed_keys(sums, shape);
  } else {
    shape.keys = sums.causal_pairs / static_cast<double>(sums.query_tokens);
  }
  return shape;
}

double product_ops(DType dtype, const GpuSpec& gpu) {
  const DType product = dtype == DType::fp8 ? dtype : activation_dtype(dtype);
  const double ops = gpu.tensor_ops_per_cycle_sm[static_cast<std::size_t>(product)];
  if (ops > 0) return ops;
  throw PredictionError(
      fmt::format("attention: {} has no tensor path for {}", gpu.name, enum_name(product)));
}

double overlapped(double a, double b, double c, double d) {
  const double longest = std::max({a, b, c, d});
  if (longest <= 0) return 0;
  const auto part = [longest](double x) { return std::pow(x / longest, overlap_power); };
  return longest * std::pow(part(a) + part(b) + part(c) + part(d), 1 / overlap_power);
}

ClockFactors clock_factors(const GpuSpec& gpu) {
  const double slowness = clock_reference / gpu.clock.value();
  return {std::pow(slowness, 0.8), std::pow(slowness, 0.4)};
}

std::vector<std::string> with_setting_names(std::vector<std::string> names, bool with_code) {
  for (const char* name : {"is_sglang", "is_bare", "is_fa4"}) names.emplace_back(name);
  if (!with_code) return names;
  for (const char* name : {"is_fa2", "is_fa3", "is_flashinfer", "is_trtllm"}) {
    names.emplace_back(name);
  }
  return names;
}

void add_setting(const AttentionSetting& setting, bool with_code, FeatureSink& out) {
  out.add(setting.is_sglang);
  out.add(setting.is_bare);
  out.add(setting.code == AttentionCode::fa4);
  if (!with_code) return;
  for (const AttentionCode code :
       {AttentionCode::fa2, AttentionCode::fa3, AttentionCode::flashinfer, AttentionCode::trtllm}) {
    out.add(setting.code == code);
  }
}

}  // namespace foretoken
