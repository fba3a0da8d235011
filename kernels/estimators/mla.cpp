// DeepSeek's multi-head latent attention: decode on the compressed cache (queries absorb the
// up-projections), prefill with expanded keys and values, except short prompts, which vLLM sends
// down the decode path. Drafted tokens are verified by the decode kernel, a sequence's queries as
// rows beside its heads; Triton's has one query a sequence and leaves them to the prefill path.
//
// vLLM's tables time the whole operation outside a CUDA graph: below about 0.15 ms (Hopper) or
// 0.33 ms (Triton) the host is what they measure. That is what its warm launch is priced as; a cold
// one, as in serving, runs inside a graph and has the kernel's own fixed cost instead, as every
// launch of SGLang's tables has. The network corrects what the device does in both.
#include <algorithm>

#include "kernels/estimators/attention_model.hpp"
#include "kernels/estimators/task_features.hpp"
#include "kernels/tasks/decomposition.hpp"

namespace foretoken {
namespace {

/// Fitted to AIConfigurator's context_mla and generation_mla tables (of vLLM: A100, H100, H200,
/// L40S).
struct MlaConstants {
  double host;  // us, of the framework's call
  double host_small_cache;
  double walk;             // us for one key and all rows of a tile on one SM
  double tile_heads;       // query heads of a tile
  double tensor_share;     // of the peak, expanded attention
  double row_bytes;        // moved a token and head around expanded attention
  double short_row_bytes;  // around absorbed attention, with a 16-bit and with an fp8 cache
  double short_row_bytes_small_cache;
  double short_queries;  // prompts up to here are absorbed, likewise
  double short_queries_small_cache;
};
constexpr MlaConstants flash{150, 200, 0.055, 128, 0.80, 3.8e3, 7.8e3, 15.5e3, 512, 64};
constexpr MlaConstants triton{335, 335, 0.120, 16, 0.55, 8.5e3, 8.5e3, 8.5e3, 0, 0};

constexpr double graph_fixed = 8;         // us: two launches inside a graph
constexpr double dram_share = 0.8;        // of the specified bandwidth
constexpr double absorbed_share = 0.6;    // of the tensor peak
constexpr double expanded_key_dim = 192;  // 128 without and 64 with rotary embedding
constexpr double expanded_value_dim = 128;
constexpr double cached_bytes = 1.3e3;  // a cached token and head: expanding it
constexpr double host_power = 4;        // the device's work hides behind the host's until longer

struct MlaEstimate {
  // us
  double fixed = 0, memory = 0, math = 0, walk = 0, rows = 0;
  double total = 0;
  bool is_triton = false, has_small_cache = false, is_absorbed = true;
  double sequences = 0, queries = 0, context = 0, keys = 0;
  Bound bound = Bound::launch;
};

KernelSource source_of(const Kernel& kernel, const GpuSpec& gpu) {
  const auto& mla = std::get<Mla>(kernel);
  if (mla.implementation.source != KernelSource::automatic) return mla.implementation.source;
  return resolve_implementation(kernel, gpu).source;
}

bool runs_as_decode(const Mla& mla, bool is_triton) {
  return mla.load.prefill.sequences == 0 && !(is_triton && mla.load.verifies_drafts());
}

MlaEstimate start(const Mla& mla, bool is_triton) {
  const LoadSums& sums = mla.load.prefill.sequences > 0 ? mla.load.prefill : mla.load.decode;
  FORETOKEN_CHECK(sums.sequences > 0 && sums.query_tokens > 0, "no queries");
  MlaEstimate out;
  out.is_triton = is_triton;
  out.has_small_cache = bytes_per_element(mla.kv_dtype) < 2;
  out.sequences = static_cast<double>(sums.sequences);
  out.queries = static_cast<double>(sums.query_tokens) / out.sequences;
  out.context = static_cast<double>(sums.context_tokens) / out.sequences;
  out.keys = sums.causal_pairs / static_cast<double>(sums.query_tokens);
  return out;
}

void add_absorbed(const Mla& mla, const MlaConstants& c, const GpuSpec& gpu, MlaEstimate& out) {
  const double key_dim = mla.latent_dim + mla.rope_dim;
  const double rows = mla.query_heads * out.queries;
  const double cache = out.sequences * out.context;
  const double bytes = cache * key_dim * bytes_per_element(mla.kv_dtype) +
                       out.sequences * rows * (key_dim + mla.latent_dim) * 2;
  out.memory = bytes / (gpu.dram_bandwidth.value() * dram_share) * 1e6;
  const double padded = std::ceil(rows / 16) * 16;
  out.math = 2 * (key_dim + mla.latent_dim) * out.sequences * padded * out.keys /
             (product_ops(mla.dtype, gpu) * absorbed_share * gpu.sm_count * gpu.clock.value()) *
             1e6;
  out.walk = c.walk * out.sequences * out.keys * std::ceil(rows / c.tile_heads) / gpu.sm_count;
}

void add_expanded(const Mla& mla, const MlaConstants& c, const GpuSpec& gpu, MlaEstimate& out) {
  const double heads = out.sequences * mla.query_heads;
  const double flops = 2 * (expanded_key_dim + expanded_value_dim) * heads * out.queries * out.keys;
  out.math = flops /
             (product_ops(mla.dtype, gpu) * c.tensor_share * gpu.sm_count * gpu.clock.value()) *
             1e6;
  const double bytes =
      heads * (out.queries * c.row_bytes + std::max(out.context - out.queries, 0.0) * cached_bytes);
  out.rows = bytes / gpu.dram_bandwidth.value() * 1e6;
}

/// Whether the tables time a launch of that framework with the host's part.
bool is_timed_with_host(const Mla& mla) { return mla.implementation.framework == Framework::vllm; }

MlaEstimate estimate(const Kernel& kernel, const GpuSpec& gpu, bool is_cold) {
  const auto& mla = std::get<Mla>(kernel);
  const bool is_triton = source_of(kernel, gpu) == KernelSource::triton;
  const MlaConstants& c = is_triton ? triton : flash;
  MlaEstimate out = start(mla, is_triton);
  const bool is_small = out.has_small_cache;
  const bool is_decode = runs_as_decode(mla, is_triton);
  out.is_absorbed =
      is_decode || out.queries <= (is_small ? c.short_queries_small_cache : c.short_queries);
  const bool is_in_graph = is_cold || !is_timed_with_host(mla);
  out.fixed = is_in_graph ? graph_fixed : is_small ? c.host_small_cache : c.host;
  if (out.is_absorbed) {
    add_absorbed(mla, c, gpu, out);
  } else {
    add_expanded(mla, c, gpu, out);
  }
  if (out.is_absorbed && !is_decode) {
    const double bytes = is_small ? c.short_row_bytes_small_cache : c.short_row_bytes;
    out.rows =
        out.sequences * out.queries * mla.query_heads * bytes / gpu.dram_bandwidth.value() * 1e6;
  }
  const double device = out.rows + overlapped(out.memory, out.math, out.walk, 0);
  if (is_in_graph) {
    out.total = out.fixed + device;
  } else {
    const double longer = std::max(out.fixed, device);
    out.total = longer * std::pow(std::pow(out.fixed / longer, host_power) +
                                      std::pow(device / longer, host_power),
                                  1 / host_power);
  }
  if (device < out.fixed) return out;
  const bool is_math = out.math > out.memory + out.rows && out.math > out.walk;
  out.bound = is_math                            ? Bound::tensor
              : out.walk > out.memory + out.rows ? Bound::shared
                                                 : Bound::dram;
  return out;
}

const std::vector<std::string> names =
    with_task_names({"log_fixed_share", "log_memory_share", "log_math_share", "log_walk_share",
                     "log_row_share", "log_heads", "log_sequences", "log_queries", "log_keys",
                     "log_tiles_a_sm", "has_small_cache", "is_triton", "is_absorbed", "is_sglang"});

class MlaFamily final : public EstimatorFamily {
 public:
  MlaFamily(std::string_view name, bool is_decode) : name_(name), is_decode_(is_decode) {}

  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] int version() const override { return 3; }
  [[nodiscard]] const std::vector<std::string>& feature_names() const override { return names; }

  [[nodiscard]] bool covers(const Kernel& kernel, const GpuSpec& gpu) const override {
    const auto* mla = std::get_if<Mla>(&kernel);
    if (mla == nullptr) return false;
    if (!mla->load.verifies_drafts()) return is_pure(mla->load, is_decode_);
    if (mla->load.prefill.sequences > 0) return false;
    return runs_as_decode(*mla, source_of(kernel, gpu) == KernelSource::triton) == is_decode_;
  }

  [[nodiscard]] FirstOrder first_order(const Kernel& kernel, const GpuSpec& gpu) const override {
    const MlaEstimate e = estimate(kernel, gpu, std::get<Mla>(kernel).implementation.is_cold);
    return {Seconds(e.total * 1e-6), e.bound};
  }

  void features(const Kernel& kernel, const GpuSpec& gpu, FeatureSink& out) const override {
    // The network corrects the device as it was measured: warm.
    MlaEstimate e = estimate(kernel, gpu, false);
    double heads = std::get<Mla>(kernel).query_heads;
    if (is_decode_ && e.queries > 1) {
      heads *= e.queries;
      e.queries = 1;
    }
    for (const double part : {e.fixed, e.memory, e.math, e.walk, e.rows}) {
      out.add(std::log(part / e.total + 1e-3));
    }
    out.add(log_of(heads));
    out.add(log_of(e.sequences));
    out.add(log_of(e.queries));
    out.add(log_of(e.keys));
    out.add(log_of(e.sequences * e.queries * heads / 128 / gpu.sm_count));
    out.add(e.has_small_cache);
    out.add(e.is_triton);
    out.add(e.is_absorbed);
    out.add(!is_timed_with_host(std::get<Mla>(kernel)));
    write_task_features(kernel, gpu, Seconds(e.total * 1e-6), out);
  }

  /// The cache of a benchmark exceeds the L2 wherever the host does not hide the difference.
  [[nodiscard]] Seconds cold_extra(const Kernel& /*kernel*/,
                                   const GpuSpec& /*gpu*/) const override {
    return Seconds(0);
  }

 private:
  std::string_view name_;
  bool is_decode_;
};

}  // namespace

const EstimatorFamily& mla_decode_family() {
  static const MlaFamily family("mla_decode", true);
  return family;
}

const EstimatorFamily& mla_prefill_family() {
  static const MlaFamily family("mla_prefill", false);
  return family;
}

}  // namespace foretoken
