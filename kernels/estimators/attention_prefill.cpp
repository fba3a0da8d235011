// Prefill attention: whole prompts and chunks with cached context. FlashAttention-2 and 3,
// FlashInfer and TensorRT-LLM in one family, Triton and FlashAttention-4 in another. The tables
// have whole prompts only; a chunk is the same kernel with fewer query tiles over longer contexts,
// which the first-order time follows and the features describe by what they share with prompts
// (keys a query, keys a tile, CTAs), so that the network says nothing new about chunks.
//
// Cold: queries, keys and values of the new tokens were just written and are as warm as in a
// benchmark; the cached context of a chunk comes from DRAM.
#include "kernels/estimators/attention_prefill_model.hpp"
#include "kernels/estimators/task_features.hpp"

namespace foretoken {
namespace {

const std::vector<std::string>& prefill_names() {
  static const std::vector<std::string> list = with_task_names(with_setting_names(
      {"tensor_share",        "exponential_share", "memory_share",     "cta_share",
       "longest_share",       "fixed_share",       "log_ctas_a_sm",    "wave_fill",
       "log_waves",           "log_keys",          "log_queries",      "log_group",
       "log_head_dim",        "has_small_cache",   "has_fp8_products", "has_window",
       "log_context_windows", "log_row_padding",   "log_key_padding",  "log_working_set",
       "log_splits",          "log_sequences",     "log_kv_heads"},
      false));
  return list;
}

void write_prefill(const Attention& kernel, const AttentionSetting& setting,
                   const PrefillEstimate& e, FeatureSink& out) {
  const AttentionLaunch shape = attention_shape(kernel, e.has_window);
  for (const double part : {e.tensor, e.exponentials, e.memory, e.ctas, e.longest, e.fixed}) {
    out.add(std::log(part / e.total + 1e-3));
  }
  out.add(log_of(e.ctas_a_sm));
  const double waves = std::ceil(e.ctas_a_sm);
  out.add(e.ctas_a_sm / waves);
  out.add(log_of(waves));
  out.add(log_of(shape.keys));
  // A chunk deep in its context is like a prompt whose queries see as many keys.
  out.add(log_of(std::max(shape.queries, 2 * shape.keys)));
  out.add(log_of(shape.group));
  out.add(log_of(shape.head_dim));
  out.add(shape.has_small_cache);
  out.add(e.has_fp8_products);
  out.add(kernel.window > 0);
  const auto window = static_cast<double>(kernel.window);
  out.add(kernel.window > 0 ? std::clamp(log_of(shape.context / window), -3.0, 3.0) : 0);
  out.add(log_of(e.row_padding));
  out.add(log_of(e.key_padding));
  out.add(std::clamp(log_of(e.working_set), -3.0, 2.5));
  out.add(log_of(e.splits));
  out.add(log_of(shape.sequences));
  out.add(log_of(shape.kv_heads));
  add_setting(setting, false, out);
}

class PrefillFamily final : public EstimatorFamily {
 public:
  [[nodiscard]] std::string_view name() const override { return "attention_prefill_triton"; }
  [[nodiscard]] int version() const override { return 2; }
  [[nodiscard]] const std::vector<std::string>& feature_names() const override {
    return prefill_names();
  }

  [[nodiscard]] bool covers(const Kernel& kernel, const GpuSpec& gpu) const override {
    const auto* attention = std::get_if<Attention>(&kernel);
    if (attention == nullptr) return false;
    const AttentionLoad& load = attention->load;
    if (load.prefill.sequences == 0 && !load.verifies_drafts()) return false;
    const AttentionSetting setting = attention_setting(kernel, gpu);
    if (is_encoder(*attention, setting) || !runs_as(*attention, setting, false)) return false;
    return setting.code == AttentionCode::triton || setting.code == AttentionCode::fa4;
  }

  [[nodiscard]] FirstOrder first_order(const Kernel& kernel, const GpuSpec& gpu) const override {
    const PrefillEstimate estimate = price(kernel, gpu);
    return {Seconds(estimate.total * 1e-6), estimate.bound};
  }

  void features(const Kernel& kernel, const GpuSpec& gpu, FeatureSink& out) const override {
    const PrefillEstimate estimate = price(kernel, gpu);
    write_prefill(std::get<Attention>(kernel), attention_setting(kernel, gpu), estimate, out);
    write_task_features(kernel, gpu, Seconds(estimate.total * 1e-6), out);
  }

  [[nodiscard]] Seconds cold_extra(const Kernel& kernel, const GpuSpec& gpu) const override {
    const PrefillEstimate estimate = price(kernel, gpu);
    return Seconds((estimate.total_cold - estimate.total) * 1e-6);
  }

 private:
  static PrefillEstimate price(const Kernel& kernel, const GpuSpec& gpu) {
    return estimate_prefill(std::get<Attention>(kernel), attention_setting(kernel, gpu), gpu);
  }
};

}  // namespace

const EstimatorFamily& attention_prefill_triton_family() {
  static const PrefillFamily family;
  return family;
}

}  // namespace foretoken
