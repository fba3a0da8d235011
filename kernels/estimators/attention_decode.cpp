// Decode attention: FlashAttention-2 and 3, FlashInfer and TensorRT-LLM in one family, Triton and
// FlashAttention-4 (head_dim 512) in another, because their time follows other rules and is known
// on few GPUs. The network corrects estimate_decode.
//
// Cold: benchmark tables repeat one cache, which a small one answers from the L2; in serving every
// layer has its own, so all of it comes from DRAM.
#include "kernels/estimators/attention_decode_model.hpp"
#include "kernels/estimators/task_features.hpp"

namespace foretoken {
namespace {

const std::vector<std::string>& names() {
  static const std::vector<std::string> list = with_task_names(
      with_setting_names({"memory_share",    "cta_share",           "math_share",
                          "chain_share",     "fixed_share",         "log_ctas_a_sm",
                          "log_keys",        "log_group",           "log_head_dim",
                          "row_fill",        "has_window",          "log_context_windows",
                          "has_small_cache", "log_splits",          "log_working_set",
                          "slot_fill",       "log_rounds",          "log_sequences",
                          "log_kv_heads",    "is_cuda_core",        "never_splits",
                          "copies_queries",  "reads_per_query_head"},
                         true));
  return list;
}

void write(const Attention& kernel, const AttentionSetting& setting, const DecodeEstimate& e,
           FeatureSink& out) {
  const AttentionLaunch shape = decode_shape(kernel);
  for (const double part : {e.memory, e.ctas, e.math, e.chain, e.fixed}) {
    out.add(std::log(part / e.total + 1e-3));
  }
  out.add(log_of(e.ctas_a_sm));
  out.add(log_of(e.keys));
  out.add(log_of(shape.group));
  out.add(log_of(shape.head_dim));
  out.add(e.row_fill);
  out.add(e.has_window);
  // How far beyond the window the context reaches, or how far it is from filling it.
  out.add(e.has_window ? std::clamp(log_of(shape.context / shape.window), -3.0, 3.0) : 0);
  out.add(shape.has_small_cache);
  out.add(log_of(e.splits));
  out.add(std::clamp(log_of(e.working_set), -3.0, 2.5));
  const double rounds = std::max(std::ceil(e.parts_a_slot), 1.0);
  out.add(e.parts_a_slot / rounds);
  out.add(log_of(rounds));
  out.add(log_of(shape.sequences));
  out.add(log_of(shape.kv_heads));
  out.add(e.is_cuda_core);
  out.add(e.never_splits);
  out.add(e.copies_queries);
  out.add(e.reads_per_query_head);
  add_setting(setting, true, out);
}

class DecodeFamily final : public EstimatorFamily {
 public:
  [[nodiscard]] std::string_view name() const override { return "attention_decode_triton"; }
  [[nodiscard]] int version() const override { return 2; }
  [[nodiscard]] const std::vector<std::string>& feature_names() const override { return names(); }

  [[nodiscard]] bool covers(const Kernel& kernel, const GpuSpec& gpu) const override {
    const auto* attention = std::get_if<Attention>(&kernel);
    if (attention == nullptr || attention->load.prefill.sequences > 0) return false;
    const AttentionSetting setting = attention_setting(kernel, gpu);
    if (is_encoder(*attention, setting) || !runs_as(*attention, setting, true)) return false;
    return setting.code == AttentionCode::triton || setting.code == AttentionCode::fa4;
  }

  /// Triton's splits follow the batch: in the tables twice the sequences can take a third of the
  /// time.
  [[nodiscard]] bool grows_with_problem() const override { return false; }

  [[nodiscard]] FirstOrder first_order(const Kernel& kernel, const GpuSpec& gpu) const override {
    const DecodeEstimate estimate = price(kernel, gpu);
    return {Seconds(estimate.total * 1e-6), estimate.bound};
  }

  void features(const Kernel& kernel, const GpuSpec& gpu, FeatureSink& out) const override {
    const DecodeEstimate estimate = price(kernel, gpu);
    write(std::get<Attention>(kernel), attention_setting(kernel, gpu), estimate, out);
    write_task_features(kernel, gpu, Seconds(estimate.total * 1e-6), out);
  }

  [[nodiscard]] Seconds cold_extra(const Kernel& kernel, const GpuSpec& gpu) const override {
    const DecodeEstimate estimate = price(kernel, gpu);
    return Seconds((estimate.total_cold - estimate.total) * 1e-6);
  }

 private:
  static DecodeEstimate price(const Kernel& kernel, const GpuSpec& gpu) {
    return estimate_decode(std::get<Attention>(kernel), attention_setting(kernel, gpu), gpu);
  }
};

}  // namespace

const EstimatorFamily& attention_decode_triton_family() {
  static const DecodeFamily family;
  return family;
}

}  // namespace foretoken
