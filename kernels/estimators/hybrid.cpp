// Recurrences, sparse attention with its index, and hyper-connections: networks over the
// first-order times of hybrid_times.cpp. Prompts and decodes of a recurrence are other kernels and
// so other families. Mamba-2's decode, which no table holds, and MiniMax-M3's index of blocks with
// the attention to them, which were timed with their whole layer alone, have first-order times.
#include <algorithm>
#include <cmath>

#include "kernels/estimators/hybrid_times.hpp"
#include "kernels/estimators/task_features.hpp"
#include "kernels/tasks/block_sparse.hpp"

namespace foretoken {
namespace {

double log_above(double value) {
  constexpr double least = 1e-3;
  return std::log(std::max(value, least));
}

Framework hybrid_framework(const Kernel& kernel) {
  return std::visit(
      [](const auto& own) {
        if constexpr (requires { own.implementation; }) return own.implementation.framework;
        return Framework::vllm;
      },
      kernel);
}

/// Half of what nine of ten whole blocks stay within (evaluate --modules), and their projections'
/// share, which is known better.
constexpr double block_error = 0.2;

class HybridFamily final : public EstimatorFamily {
 public:
  using Covers = bool (*)(const Kernel&);
  using Time = HybridTime (*)(const Kernel&, const GpuSpec&, bool is_cold);
  /// `error`: 0 where it has networks.
  HybridFamily(std::string_view name, Covers takes, Time time, double error = 0)
      : name_(name), takes_(takes), time_(time), error_(error) {}

  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] int version() const override { return 3; }
  [[nodiscard]] const std::vector<std::string>& feature_names() const override {
    static const std::vector<std::string> names = with_task_names(
        {"fixed_share", "memory_share", "math_share", "walk_share", "log_sequences", "log_queries",
         "log_context", "log_width", "log_tasks_sm", "log_working_set", "is_prompt", "is_native",
         "is_other_kind", "is_sglang"});
    return names;
  }
  [[nodiscard]] bool covers(const Kernel& kernel, const GpuSpec& /*gpu*/) const override {
    return takes_(kernel);
  }
  [[nodiscard]] FirstOrder first_order(const Kernel& kernel, const GpuSpec& gpu) const override {
    const HybridTime time = time_(as_priced(kernel, gpu), gpu, false);
    return {Seconds(time.total() * 1e-6), time.bound()};
  }
  void features(const Kernel& asked, const GpuSpec& gpu, FeatureSink& out) const override {
    const Kernel kernel = as_timed(asked, gpu);
    const HybridTime time = time_(kernel, gpu, false);
    const double total = time.total();
    for (const double part : {time.fixed, time.memory, time.math, time.walk}) {
      out.add(log_above(part / total));
    }
    for (const double size : {time.sequences, time.queries, time.context, time.width,
                              time.tasks / gpu.sm_count, time.working_set}) {
      out.add(log_above(size));
    }
    for (const bool flag : {time.is_prompt, time.is_native, time.is_other_kind,
                            hybrid_framework(kernel) == Framework::sglang}) {
      out.add(flag ? 1 : 0);
    }
    write_task_features(kernel, gpu, Seconds(total * 1e-6), out);
  }
  [[nodiscard]] double first_order_error() const override { return error_; }
  /// Sparse attention gets faster where contexts pass the keys that it picks.
  [[nodiscard]] bool grows_with_problem() const override { return time_ != sparse_attention_time; }
  /// What the tables read from L2 because they repeat one buffer.
  [[nodiscard]] Seconds cold_extra(const Kernel& kernel, const GpuSpec& gpu) const override {
    const Kernel whole = as_priced(kernel, gpu);
    const double extra = time_(whole, gpu, true).total() - time_(whole, gpu, false).total();
    return Seconds(std::max(extra, 0.0) * 1e-6);
  }

 private:
  std::string_view name_;
  Covers takes_;
  Time time_;
  double error_;
};

bool is_prompt_scan(const Kernel& kernel) {
  const auto* scan = std::get_if<StateScan>(&kernel);
  return scan != nullptr && scan->load.prefill_sequences > 0 && scan->load.decode_sequences == 0;
}

bool is_decode_scan(const Kernel& kernel) {
  const auto* scan = std::get_if<StateScan>(&kernel);
  return scan != nullptr && scan->load.prefill_sequences == 0;
}

bool is_mamba(const Kernel& kernel) {
  return std::get<StateScan>(kernel).kind == StateKind::mamba2;
}

bool is_pure_convolution(const Kernel& kernel) {
  const auto* own = std::get_if<StateConvolution>(&kernel);
  return own != nullptr && (own->load.prefill_sequences == 0 || own->load.decode_sequences == 0);
}

/// With prompts or decodes alone.
template <class Kind>
bool is_pure_attention(const Kernel& kernel) {
  const auto* own = std::get_if<Kind>(&kernel);
  return own != nullptr && (own->load.prefill.sequences == 0 || own->load.decode.sequences == 0);
}

bool is_of_blocks(const Kernel& kernel) {
  const auto* index = std::get_if<KeyIndexer>(&kernel);
  return index != nullptr && index->block > 1;
}

bool is_hyper_connection(const Kernel& kernel) {
  return std::holds_alternative<HyperConnection>(kernel);
}

}  // namespace

const EstimatorFamily& state_scan_prefill_family() {
  static const HybridFamily family("state_scan_prefill", is_prompt_scan, state_scan_time);
  return family;
}

const EstimatorFamily& state_scan_decode_family() {
  static const HybridFamily family(
      "state_scan_decode",
      [](const Kernel& kernel) { return is_decode_scan(kernel) && !is_mamba(kernel); },
      state_scan_time);
  return family;
}

const EstimatorFamily& mamba_decode_family() {
  constexpr double error = 0.3;  // what the formula is off on the other recurrences, rounded up
  static const HybridFamily family(
      "mamba_decode",
      [](const Kernel& kernel) { return is_decode_scan(kernel) && is_mamba(kernel); },
      state_scan_time, error);
  return family;
}

const EstimatorFamily& state_convolution_family() {
  static const HybridFamily family("state_convolution", is_pure_convolution,
                                   state_convolution_time);
  return family;
}

const EstimatorFamily& key_indexer_family() {
  static const HybridFamily family("key_indexer", is_pure_attention<KeyIndexer>, key_indexer_time);
  return family;
}

const EstimatorFamily& block_index_family() {
  static const HybridFamily family(
      "block_index",
      [](const Kernel& kernel) {
        return is_pure_attention<KeyIndexer>(kernel) && is_of_blocks(kernel);
      },
      block_index_time, block_error);
  return family;
}

const EstimatorFamily& sparse_attention_family() {
  static const HybridFamily family("sparse_attention", is_pure_attention<SparseAttention>,
                                   sparse_attention_time);
  return family;
}

const EstimatorFamily& latent_decode_family() {
  static const HybridFamily family(
      "latent_decode",
      [](const Kernel& kernel) {
        const auto* sparse = std::get_if<SparseAttention>(&kernel);
        return sparse != nullptr && sparse->load.prefill.sequences == 0 && picks_latents(*sparse);
      },
      latent_decode_time, block_error);
  return family;
}

const EstimatorFamily& block_attention_family() {
  static const HybridFamily family(
      "block_attention",
      [](const Kernel& kernel) {
        return is_pure_attention<SparseAttention>(kernel) &&
               attends_to_blocks(std::get<SparseAttention>(kernel));
      },
      block_attention_time, block_error);
  return family;
}

const EstimatorFamily& heads_product_family() {
  static const HybridFamily family(
      "batched_gemm",
      [](const Kernel& kernel) { return std::holds_alternative<BatchedGemm>(kernel); },
      heads_product_time);
  return family;
}

const EstimatorFamily& hyper_connection_family() {
  static const HybridFamily family("hyper_connection", is_hyper_connection, hyper_connection_time);
  return family;
}

}  // namespace foretoken
