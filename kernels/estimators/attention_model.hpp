// What the attention estimator families share: whose code runs, and the shape of a launch in means
// and maxima over its sequences. Everything comes from the sums of a load (LoadSums), so that a
// list of sequences and its sums are priced alike. Internal to the attention families.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/estimators/estimator.hpp"

namespace foretoken {

/// Kernels that tile and split alike.
enum class AttentionCode : std::uint8_t { fa2, fa3, flashinfer, trtllm, triton, fa4 };

struct AttentionSetting {
  AttentionCode code = AttentionCode::fa2;
  bool is_sglang = false;
  /// TensorRT-LLM's own kernels as TensorRT-LLM launches them; other frameworks' calls of those for
  /// Blackwell are not.
  bool is_trtllm = false;
  /// Launched without a framework around it (benchmarks, PyTorch): no planning, no copies.
  bool is_bare = false;
  /// Whether the query heads of a KV head share a tile's rows.
  bool packs_heads = true;
  bool asks_cuda_cores = false, asks_tensor_cores = false;  // FlashInfer's decode kernels by name
};

/// The source that the kernel names, or else what the framework would choose.
AttentionSetting attention_setting(const Kernel& kernel, const GpuSpec& gpu);

/// Whether `kernel` is an image encoder's as frameworks launch it: every query sees every key.
inline bool is_encoder(const Attention& kernel, const AttentionSetting& setting) {
  return !kernel.causal && !setting.is_bare;
}
/// The width that an encoder's kernel multiplies for each head, over the head's: 1 or more.
double encoder_padding(const Attention& kernel, const AttentionSetting& setting);
/// Of an encoder's products, operations a clock a SM, of parts that reach `peak`.
double encoder_rate(const Attention& kernel, const AttentionSetting& setting, const GpuSpec& gpu,
                    double peak);

/// Of a launch whose sequences are all decode or all prefill.
struct AttentionLaunch {
  double sequences = 0;
  double queries = 0;      // a sequence, mean
  double context = 0;      // a sequence, mean; the queries included
  double context_max = 0;  // of the longest sequence
  double keys = 0;         // a query sees, mean; mask and window applied
  double query_heads = 0, kv_heads = 0, head_dim = 0;
  double group = 1;   // query heads a KV head
  double window = 0;  // 0: none
  double kv_bytes = 2;
  bool has_small_cache = false;  // below 16 bit
};

/// Whether all sequences are decode (`is_decode`) or all prefill.
bool is_pure(const AttentionLoad& load, bool is_decode);
/// As is_pure, with decodes that verify drafted tokens counted as what runs them: decode kernels
/// pack the queries of a sequence beside its query heads (FlashAttention-3, TensorRT-LLM); vLLM's
/// FlashAttention-2 packs and splits for one query a sequence only, FlashInfer and Triton have
/// decode kernels of one query, so that these take their prefill kernels (vLLM 0.11's and SGLang
/// 0.5's backends).
bool runs_as(const Attention& kernel, const AttentionSetting& setting, bool is_decode);
/// The load must be pure (checked). `with_window` false: as if there were no window.
AttentionLaunch attention_shape(const Attention& kernel, bool with_window = true);

/// The shape of a decode load: several queries a sequence are more query heads of each KV head,
/// which is how the kernels see them.
AttentionLaunch decode_shape(const Attention& kernel);

/// Of tensor cores, operations a clock a SM for the products of `kernel`. Throws PredictionError
/// where the GPU has no path for the format.
double product_ops(DType dtype, const GpuSpec& gpu);

/// Between the longest of four overlapping times and their sum, as measured times behave:
/// (a^p + b^p + c^p + d^p)^(1/p), p = 1.7.
double overlapped(double a, double b, double c, double d);

/// Share of repeated reads that the L2 serves when `working_set` L2 sizes are streamed through it:
/// 1 below `fill`, 0 well above (a cyclic stream longer than the cache finds nothing).
inline double hit_share(double working_set, double fill) {
  return 1 / (1 + std::pow(working_set / fill, 8));
}

/// 1 at 2 GHz. Fixed costs shrink with the clock to the power 0.8, costs a CTA to the power 0.4
/// (FlashAttention-2 on A100 and L40S, FlashInfer on L40S and B200).
struct ClockFactors {
  double fixed, cta;
};
ClockFactors clock_factors(const GpuSpec& gpu);

/// Flags that every attention family ends its features with. `with_code` false leaves out which of
/// the codes it is, beyond what the first-order time already says: flags that are never set in
/// training make a network answer at random on the GPUs where they are (prefill, Hopper left out:
/// 29 % instead of 14 %).
std::vector<std::string> with_setting_names(std::vector<std::string> names, bool with_code);
void add_setting(const AttentionSetting& setting, bool with_code, FeatureSink& out);

inline double log_of(double value) { return std::log(std::max(value, 1e-3)); }

}  // namespace foretoken
