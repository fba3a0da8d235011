// Recurrences, sparse attention with its index, and hyper-connections: priced by formulas alone,
// with no network behind them. Constants are fitted by least absolute log errors to
// AIConfigurator's tables (095f58a5) of vLLM 0.24 and SGLang 0.5.14 on H100, H200, B200 and L40S,
// tables that keep their buffers in L2 where these fit; the error that each family states is the
// mean over all rows it was fitted to, rounded up. What no table holds is told where it stands.
#include <algorithm>
#include <cmath>

#include "kernels/estimators/estimator.hpp"
#include "kernels/kernel_work.hpp"

namespace foretoken {
namespace {

constexpr double micro = 1e-6;
constexpr int hopper_capability = 90, blackwell_capability = 100, blackwell_client_capability = 120;

bool is_hopper_or_b200(const GpuSpec& gpu) {
  return gpu.compute_capability >= hopper_capability &&
         gpu.compute_capability < blackwell_client_capability;
}

/// How much longer than on an H100 what a single SM does one thing after the other takes.
double clock_stretch(const GpuSpec& gpu) {
  constexpr double reference_hz = 1.755e9;
  return reference_hz / gpu.clock.value();
}

double rows_of(std::int64_t count) { return static_cast<double>(count); }

/// us at `share` of the DRAM bandwidth.
double memory_us(const KernelWork& work, const GpuSpec& gpu, double share) {
  return work.dram_bytes.value() / (gpu.dram_bandwidth.value() * share) / micro;
}

double tensor_us(double flops, DType dtype, const GpuSpec& gpu, double share) {
  double rate = gpu.tensor_rate(dtype).value();
  if (!(rate > 0)) rate = gpu.tensor_rate(activation_dtype(dtype)).value();
  if (!(rate > 0)) rate = gpu.fma_rate().value();
  return flops / (rate * share) / micro;
}

FirstOrder longest(double fixed, double memory, double math, double walk) {
  const double work = std::max(memory, math) + walk;
  Bound bound = Bound::launch;
  if (work > fixed) {
    bound = walk >= std::max(memory, math) ? Bound::shared
            : math > memory                ? Bound::tensor
                                           : Bound::dram;
  }
  return {Seconds((fixed + work) * micro), bound};
}

/// A chunked scan: a fixed cost of its launches, products of each chunk, and the chunks of a
/// sequence one after the other, for as many heads at a time as find room.
struct ScanConstants {
  double fixed, tensor_share, traffic, chunk_us, room;
  int chunk_tokens = 64;
};
// vLLM on Hopper and B200: FlashInfer's gated delta rule, FlashKDA. Elsewhere, and in SGLang, the
// Triton kernels of flash-linear-attention, and for Kimi its chunk_kda.
constexpr ScanConstants flashinfer_delta{9.7, 1.0, 0.33, 2.6, 1.0};
constexpr ScanConstants triton_delta{19.1, 0.26, 0.45, 2.4, 6.8};
constexpr ScanConstants flash_kda{18.3, 0.30, 1.1, 3.8, 1.2};
constexpr ScanConstants triton_kda{17.3, 0.30, 1.5, 6.7, 4.0};
// mamba_chunk_scan_combined as TensorRT-LLM runs it, on B200 alone.
constexpr ScanConstants triton_mamba{21.4, 0.30, 6.0, 1.9, 0.0, 256};

const ScanConstants& scan_constants(const StateScan& scan, const GpuSpec& gpu) {
  const bool is_native = scan.implementation.framework == Framework::vllm && is_hopper_or_b200(gpu);
  if (scan.kind == StateKind::mamba2) return triton_mamba;
  if (scan.kind == StateKind::kimi_delta) return is_native ? flash_kda : triton_kda;
  return is_native ? flashinfer_delta : triton_delta;
}

FirstOrder scan_prompts(const StateScan& scan, const GpuSpec& gpu) {
  const ScanConstants& c = scan_constants(scan, gpu);
  const double sequences = rows_of(scan.load.prefill_sequences);
  const double chunks = std::ceil(rows_of(scan.load.prefill_tokens) / sequences / c.chunk_tokens);
  const double heads = scan.value_heads;
  const double state = static_cast<double>(scan.key_dim) * scan.value_dim;
  const bool is_mamba = scan.kind == StateKind::mamba2;
  const double shared_keys = is_mamba ? static_cast<double>(scan.key_heads) / heads : 2.0;
  const double within =
      c.chunk_tokens * (shared_keys * scan.key_dim + (is_mamba ? 1.0 : 2.0) * scan.value_dim);
  const double padded = sequences * chunks * c.chunk_tokens;
  const double flops = 2 * ((is_mamba ? 2.0 : 3.0) * state + within) * heads * padded;
  const KernelWork work = state_scan_work(scan);
  const double between = sequences * chunks * heads * state * (is_mamba ? 8.0 : 4.0);
  const double traffic =
      (work.dram_bytes.value() + between) * c.traffic / gpu.dram_bandwidth.value() / micro;
  const double waves = std::max(sequences * heads * c.room / gpu.sm_count, 1.0);
  return longest(c.fixed, traffic,
                 tensor_us(flops, activation_dtype(scan.dtype), gpu, c.tensor_share),
                 chunks * c.chunk_us * waves * clock_stretch(gpu));
}

/// One pass over the states; drafts that are verified keep one each. No table holds Mamba-2's,
/// which is taken to stream as the others do.
FirstOrder scan_time(const Kernel& kernel, const GpuSpec& gpu) {
  const auto& scan = std::get<StateScan>(kernel);
  if (scan.load.prefill_sequences > 0) return scan_prompts(scan, gpu);
  constexpr double fixed = 4.1, dram_share = 0.84;
  KernelWork work = state_scan_work(scan);
  const double drafts = rows_of(scan.load.decode_tokens - scan.load.decode_sequences);
  work.dram_bytes += Bytes(drafts * scan.value_heads * scan.key_dim * scan.value_dim *
                           bytes_per_element(scan.state_dtype));
  return longest(fixed, memory_us(work, gpu, dram_share), 0, 0);
}

FirstOrder convolution_time(const Kernel& kernel, const GpuSpec& gpu) {
  const auto& convolution = std::get<StateConvolution>(kernel);
  const bool is_prompt = convolution.load.prefill_sequences > 0;
  const KernelWork work = state_convolution_work(convolution);
  return longest(is_prompt ? 2.7 : 1.8, memory_us(work, gpu, is_prompt ? 0.66 : 0.72), 0, 0);
}

/// DeepGEMM's fp8 logits, of which about half of what the mask hides is computed, and SGLang's
/// top-k, a CTA a query. Block indexes were only measured as part of their layer: the same.
FirstOrder indexer_time(const Kernel& kernel, const GpuSpec& gpu) {
  const auto& index = std::get<KeyIndexer>(kernel);
  constexpr double logits_fixed = 4.3, tensor_share = 0.45, dram_share = 0.8, hidden_share = 0.5;
  constexpr double topk_fixed = 1.9, topk_query = 1.46, topk_thousand_keys = 0.241;
  const double queries = rows_of(index.load.query_tokens());
  if (queries == 0) return {Seconds(topk_fixed * micro), Bound::launch};
  const double pairs = attention_pairs(index.load, true, 0) / index.ratio;
  const double sequences = rows_of(index.load.prefill.sequences + index.load.decode.sequences);
  const double context = kv_tokens_read(index.load, 0) / sequences / index.ratio;
  const double computed = pairs + hidden_share * std::max(queries * context - pairs, 0.0);
  const KernelWork work = key_indexer_work(index);
  const double math =
      tensor_us(2 * computed * index.heads * index.head_dim, index.dtype, gpu, tensor_share);
  double select = 0;
  if (context * index.ratio > rows_of(index.selected)) {
    const double mean_keys = pairs / queries / index.block;
    select = topk_fixed + std::ceil(queries / gpu.sm_count) *
                              (topk_query + topk_thousand_keys * mean_keys / 1000) *
                              clock_stretch(gpu);
  }
  return longest(logits_fixed, memory_us(work, gpu, dram_share), math, select);
}

/// FlashMLA's sparse kernels: prompts have a CTA for each query and 64 heads, which walks all the
/// slots that were picked, filled or not; decodes are split over the SMs.
FirstOrder sparse_time(const Kernel& kernel, const GpuSpec& gpu) {
  const auto& sparse = std::get<SparseAttention>(kernel);
  constexpr double tile_heads = 64, tile_keys = 64;
  constexpr double prompt_fixed = 8.6, prompt_share = 0.59, prompt_share_b200 = 0.29;
  constexpr double decode_fixed = 15.7, decode_share = 0.73, decode_query = 8.2;
  const AttentionLoad& load = sparse.load;
  const bool is_prompt = load.prefill.sequences > 0;
  const double queries = rows_of(load.query_tokens());
  if (queries == 0) return {Seconds(decode_fixed * micro), Bound::launch};
  const bool has_more = sparse.window == 0 || sparse.selected > 0 || sparse.ratio > 1;
  double keys = 0;
  if (has_more) {
    keys = is_prompt && sparse.selected > 0
               ? rows_of(sparse.selected)
               : selected_pairs(load, sparse.selected, sparse.ratio) / queries;
  }
  if (sparse.window > 0) keys += attention_pairs(load, true, sparse.window) / queries;
  keys = std::ceil(keys / tile_keys) * tile_keys;
  const double heads = static_cast<double>(sparse.query_heads) / sparse.kv_heads;
  const double tiles = queries * sparse.kv_heads * std::ceil(heads / tile_heads);
  const double flops = 2 * tile_heads * keys * (sparse.key_dim + sparse.value_dim);
  const bool is_b200 = gpu.compute_capability >= blackwell_capability;
  const double share = !is_prompt ? decode_share : is_b200 ? prompt_share_b200 : prompt_share;
  const double tile_us =
      tensor_us(flops, activation_dtype(sparse.dtype), gpu, share) * gpu.sm_count;
  const double memory = memory_us(sparse_attention_work(sparse), gpu, 0.8);
  if (is_prompt) {
    return longest(prompt_fixed, memory, std::ceil(tiles / gpu.sm_count) * tile_us, 0);
  }
  return longest(decode_fixed, memory, tiles / gpu.sm_count * (tile_us + decode_query), 0);
}

/// TileLang's kernels (vLLM, SGLang), one of the two sites that a row of the table has.
FirstOrder hyper_time(const Kernel& kernel, const GpuSpec& gpu) {
  const auto& connection = std::get<HyperConnection>(kernel);
  const bool is_pre = connection.part == HyperPart::pre;
  const KernelWork work = hyper_connection_work(connection);
  return longest(is_pre ? 8.9 : 3.1, memory_us(work, gpu, is_pre ? 0.45 : 0.87), 0, 0);
}

bool is_pure(const StateLoad& load) {
  return load.prefill_sequences == 0 || load.decode_sequences == 0;
}
bool is_pure(const AttentionLoad& load) {
  return load.prefill.sequences == 0 || load.decode.sequences == 0;
}

/// Covers `Kind` with prompts or decodes alone, where it has either.
template <class Kind>
class FormulaFamily final : public EstimatorFamily {
 public:
  using Formula = FirstOrder (*)(const Kernel&, const GpuSpec&);
  FormulaFamily(std::string_view name, Formula formula, double error)
      : name_(name), formula_(formula), error_(error) {}

  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] int version() const override { return 1; }
  [[nodiscard]] const std::vector<std::string>& feature_names() const override {
    static const std::vector<std::string> none;
    return none;
  }
  [[nodiscard]] bool covers(const Kernel& kernel, const GpuSpec& /*gpu*/) const override {
    const auto* own = std::get_if<Kind>(&kernel);
    if (own == nullptr) return false;
    if constexpr (requires { own->load; }) return is_pure(own->load);
    return true;
  }
  [[nodiscard]] FirstOrder first_order(const Kernel& kernel, const GpuSpec& gpu) const override {
    return formula_(kernel, gpu);
  }
  void features(const Kernel& /*kernel*/, const GpuSpec& /*gpu*/,
                FeatureSink& /*out*/) const override {}
  [[nodiscard]] double first_order_error() const override { return error_; }
  [[nodiscard]] Seconds cold_extra(const Kernel& /*kernel*/,
                                   const GpuSpec& /*gpu*/) const override {
    return Seconds(0);
  }

 private:
  std::string_view name_;
  Formula formula_;
  double error_;
};

}  // namespace

const EstimatorFamily& state_scan_family() {
  static const FormulaFamily<StateScan> family("state_scan", scan_time, 0.3);
  return family;
}

const EstimatorFamily& state_convolution_family() {
  static const FormulaFamily<StateConvolution> family("state_convolution", convolution_time, 0.25);
  return family;
}

const EstimatorFamily& key_indexer_family() {
  static const FormulaFamily<KeyIndexer> family("key_indexer", indexer_time, 0.3);
  return family;
}

const EstimatorFamily& sparse_attention_family() {
  static const FormulaFamily<SparseAttention> family("sparse_attention", sparse_time, 0.25);
  return family;
}

const EstimatorFamily& hyper_connection_family() {
  static const FormulaFamily<HyperConnection> family("hyper_connection", hyper_time, 0.2);
  return family;
}

}  // namespace foretoken
