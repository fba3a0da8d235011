// DeepSeek's multi-head latent attention, decodes and prompts apart. Drafted tokens are verified by
// the decode kernel, a sequence's queries as rows beside its heads; Triton's has one query a
// sequence and leaves them to the prefill path.
//
// vLLM's tables time the whole operation outside a CUDA graph: below about 0.15 ms (Hopper) or
// 0.33 ms (Triton) the host is what they measure. That is what its warm launch is priced as; a cold
// one, as in serving, runs inside a graph and has the kernel's own fixed cost instead, as every
// launch of SGLang's tables has. The network corrects what the device does in both.
#include "kernels/estimators/levelled_decodes.hpp"
#include "kernels/estimators/mla_model.hpp"
#include "kernels/estimators/task_features.hpp"

namespace foretoken {
namespace {

const std::vector<std::string> mla_names = with_task_names(
    {"log_fixed_share", "log_memory_share", "log_math_share", "log_walk_share", "log_row_share",
     "log_conversion_share", "log_cta_share", "log_heads", "log_sequences", "log_queries",
     "log_keys", "log_tiles_a_sm", "has_small_cache", "is_triton", "is_absorbed", "is_sglang"});

class MlaFamily : public EstimatorFamily {
 public:
  MlaFamily(std::string_view name, bool is_decode, LaunchedBy launcher)
      : name_(name), is_decode_(is_decode), launcher_(launcher) {}

  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] int version() const override { return 4; }
  [[nodiscard]] const std::vector<std::string>& feature_names() const override { return mla_names; }

  [[nodiscard]] bool covers(const Kernel& kernel, const GpuSpec& gpu) const override {
    const auto* mla = std::get_if<Mla>(&kernel);
    if (mla == nullptr || !launched_by(launcher_, mla->implementation)) return false;
    if (!mla->load.verifies_drafts()) return is_pure(mla->load, is_decode_);
    if (mla->load.prefill.sequences > 0) return false;
    return mla_runs_as_decode(*mla, gpu) == is_decode_;
  }

  /// Prompts change kernels with their length.
  [[nodiscard]] bool grows_with_problem() const override { return is_decode_; }

  [[nodiscard]] std::optional<Substitute> substitute(const Kernel& kernel,
                                                     const GpuSpec& gpu) const override {
    const auto& mla = std::get<Mla>(kernel);
    const auto equal = levelled(mla, gpu);
    if (!equal) return {};
    return Substitute{*equal, levelling_error(mla.load.decode, equal->load.decode)};
  }

  [[nodiscard]] FirstOrder first_order(const Kernel& kernel, const GpuSpec& gpu) const override {
    const auto& mla = std::get<Mla>(kernel);
    const MlaEstimate e = estimate_mla(mla, gpu, mla.implementation.is_cold);
    return {Seconds(e.total * 1e-6), e.bound};
  }

  void features(const Kernel& kernel, const GpuSpec& gpu, FeatureSink& out) const override {
    const auto& mla = std::get<Mla>(kernel);
    // The network corrects the device as it was measured: warm.
    MlaEstimate e = estimate_mla(mla, gpu, false);
    double heads = mla.query_heads;
    if (is_decode_ && e.queries > 1) {
      heads *= e.queries;
      e.queries = 1;
    }
    for (const double part : {e.fixed, e.memory, e.math, e.walk, e.rows, e.conversion, e.ctas}) {
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
    out.add(!mla_is_timed_with_host(mla));
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
  LaunchedBy launcher_;
};

/// Without a network: no table has them alone.
class ExpandedPrompts final : public MlaFamily {
 public:
  ExpandedPrompts() : MlaFamily("mla_prefill_expanded", false, LaunchedBy::others) {}

  [[nodiscard]] bool covers(const Kernel& kernel, const GpuSpec& gpu) const override {
    return MlaFamily::covers(kernel, gpu) &&
           mla_expands_where_table_absorbs(std::get<Mla>(kernel), gpu);
  }
  [[nodiscard]] double first_order_error() const override { return 0.1; }
};

}  // namespace

const EstimatorFamily& mla_decode_family() {
  static const MlaFamily family("mla_decode", true, LaunchedBy::others);
  return family;
}

const EstimatorFamily& mla_decode_trtllm_family() {
  static const MlaFamily family("mla_decode_trtllm", true, LaunchedBy::trtllm);
  return family;
}

const EstimatorFamily& mla_prefill_family() {
  static const MlaFamily family("mla_prefill", false, LaunchedBy::any);
  return family;
}

const EstimatorFamily& mla_prefill_expanded_family() {
  static const ExpandedPrompts family;
  return family;
}

}  // namespace foretoken
