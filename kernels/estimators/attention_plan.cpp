// Attention by its plan: FlashAttention-2 and 3, FlashInfer and TensorRT-LLM as frameworks call
// them, decodes in one family and prompts (with or without decodes beside them) in another, and
// bare launches of all kinds of batches in a third. The networks correct estimate_plan; what they
// are told of a batch is the plan's as well, so that a batch of unequal sequences is a batch whose
// tasks lie unevenly.
//
// Cold: frameworks' tables repeat one cache, which a small one answers from the L2; in serving
// every layer has its own, so that the cached context comes from DRAM. Bare launches were measured
// both ways, and T knows which.
#include "kernels/estimators/attention_mixed.hpp"
#include "kernels/estimators/attention_plan_model.hpp"
#include "kernels/estimators/levelled_decodes.hpp"

namespace foretoken {
namespace {

/// Of launches without a framework, PyTorch's own FlashAttention-2 is apart: it neither packs nor
/// splits batches of unequal sequences, which is far from all that FlashInfer does.
/// Image encoders' launches are apart as well: no mask, no cache, other tiles and other sources;
/// and so are TensorRT-LLM's, whose kernels before Blackwell no other framework calls.
enum class Part : std::uint8_t {
  decode,
  prefill,
  bare,
  torch,
  encoder,
  trtllm_decode,
  trtllm_prefill
};

bool without_framework(Part part) { return part == Part::bare || part == Part::torch; }

bool of_trtllm(Part part) { return part == Part::trtllm_decode || part == Part::trtllm_prefill; }
bool of_prompts(Part part) { return part == Part::prefill || part == Part::trtllm_prefill; }

/// Which code it is says nothing on GPUs where another one runs: not for prompts and encoders.
bool names_code(Part part) { return part == Part::decode || without_framework(part); }

std::vector<std::string> names_of(Part part) {
  std::vector<std::string> names = {"memory_share",      "sm_bytes_share", "product_share",
                                    "exponential_share", "chain_share",    "cta_share",
                                    "merge_share",       "power_share",    "fixed_share",
                                    "log_waves",         "wave_fill",      "log_rounds",
                                    "log_resident",      "log_balance",    "log_longest_share",
                                    "log_keys",          "log_queries",    "log_group",
                                    "log_head_dim",      "row_fill",       "log_tile_rows",
                                    "is_cuda_core",      "is_split",       "log_splits",
                                    "log_working_set",   "has_window",     "log_context_windows",
                                    "has_small_cache",   "log_sequences",  "log_kv_heads",
                                    "log_page",          "decode_share",   "reorders_queries"};
  if (part == Part::encoder) {
    for (const char* name : {"log_head_padding", "is_trtllm"}) names.emplace_back(name);
  }
  if (of_trtllm(part)) {
    names.emplace_back("has_fp8_products");
    return names;
  }
  return with_setting_names(std::move(names), names_code(part));
}

struct Batch {
  double sequences = 0, queries = 0;  // all
  double keys = 0;                    // a query sees, mean
  double context = 0;                 // a sequence, mean
  double decode_share = 0;            // of the queries
};

Batch batch_of(const Attention& kernel, Part part) {
  const AttentionLoad& load = kernel.load;
  Batch batch;
  batch.sequences = static_cast<double>(load.prefill.sequences + load.decode.sequences);
  batch.queries = static_cast<double>(load.query_tokens());
  double pairs = load.prefill.causal_pairs + load.decode.causal_pairs;
  if (part == Part::encoder) pairs = 2 * pairs - batch.queries;  // n (n + 1) / 2 of n^2
  batch.keys = pairs / batch.queries;
  if (kernel.window > 0) batch.keys = std::min(batch.keys, static_cast<double>(kernel.window));
  batch.context = static_cast<double>(load.prefill.context_tokens + load.decode.context_tokens) /
                  batch.sequences;
  batch.decode_share = static_cast<double>(load.decode.query_tokens) / batch.queries;
  return batch;
}

/// Query rows over those that the tiles hold: tasks are of whole tiles.
double row_fill(const Attention& kernel, const PlanEstimate& e, const Batch& batch) {
  const double steps = batch.queries * kernel.query_heads * batch.keys / 64 / e.schedule.tile_rows;
  return std::min(steps / std::max(e.schedule.steps, 1e-6), 1.0);
}

void write(const Attention& kernel, const AttentionSetting& setting, const PlanEstimate& e,
           Part part, FeatureSink& out) {
  const Batch batch = batch_of(kernel, part);
  const AttentionSchedule& schedule = e.schedule;
  const bool is_cold = without_framework(part) && kernel.implementation.is_cold;
  const double total = is_cold ? e.total_cold : e.total;
  for (const double share : {is_cold ? e.memory_cold : e.memory, e.sm_bytes, e.products,
                             e.exponentials, e.chain, e.ctas, e.merge, e.power, e.fixed}) {
    out.add(std::log(share / total + 1e-3));
  }
  const double waves = std::max(schedule.waves, 1e-6);
  out.add(log_of(waves));
  out.add(waves / std::ceil(waves));
  const auto tasks = static_cast<double>(std::max<std::int64_t>(schedule.load.busiest_tasks, 1));
  out.add(log_of(tasks / std::min<double>(tasks, schedule.resident)));
  out.add(log_of(schedule.resident));
  const double sms = schedule.steps / std::max(schedule.steps_busiest, 1e-6);  // that are busy
  out.add(log_of(std::max(sms, 1.0)));
  out.add(log_of(schedule.steps_longest / std::max(schedule.steps_in_a_row(), 1e-6)));
  out.add(log_of(batch.keys));
  // A chunk deep in its context is like a prompt whose queries see as many keys.
  const double queries = batch.queries / batch.sequences;
  out.add(log_of(of_prompts(part) ? std::max(queries, 2 * batch.keys) : queries));
  out.add(log_of(static_cast<double>(kernel.query_heads) / kernel.kv_heads));
  out.add(log_of(kernel.head_dim));
  out.add(row_fill(kernel, e, batch));
  out.add(log_of(schedule.tile_rows));
  out.add(schedule.on_cuda_cores);
  out.add(schedule.is_split);
  out.add(log_of(schedule.tasks / (batch.sequences * kernel.kv_heads)));
  out.add(std::clamp(log_of(e.working_set), -3.0, 2.5));
  const auto window = static_cast<double>(kernel.window);
  out.add(kernel.window > 0);
  // How far beyond the window the context reaches, or how far it is from filling it.
  out.add(kernel.window > 0 ? std::clamp(log_of(batch.context / window), -3.0, 3.0) : 0);
  out.add(bytes_per_element(kernel.kv_dtype) < 2);
  out.add(log_of(batch.sequences));
  out.add(log_of(kernel.kv_heads));
  out.add(log_of(std::max(kernel.page_tokens, 1)));
  out.add(batch.decode_share);
  out.add(!without_framework(part) && e.copies > 0 && bytes_per_element(kernel.kv_dtype) >= 2);
  if (part == Part::encoder) {
    out.add(log_of(encoder_padding(kernel, setting)));
    out.add(setting.code == AttentionCode::trtllm);
  }
  if (of_trtllm(part)) {
    out.add(bytes_per_element(schedule.tensor_dtype) < 2);
    return;
  }
  add_setting(setting, names_code(part), out);
}

/// Whether the code's plan is known (or stands in for it well enough), so that it is priced here.
bool is_planned(AttentionCode code) {
  return code != AttentionCode::triton && code != AttentionCode::fa4;
}

class PlanFamily final : public EstimatorFamily {
 public:
  PlanFamily(std::string_view name, Part part) : name_(name), part_(part), names_(names_of(part)) {}

  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] int version() const override { return 3; }
  [[nodiscard]] const std::vector<std::string>& feature_names() const override { return names_; }

  [[nodiscard]] bool covers(const Kernel& kernel, const GpuSpec& gpu) const override {
    const auto* attention = std::get_if<Attention>(&kernel);
    if (attention == nullptr) return false;
    const AttentionLoad& load = attention->load;
    if (load.prefill.sequences + load.decode.sequences == 0) return false;
    const AttentionSetting setting = attention_setting(kernel, gpu);
    if (is_encoder(*attention, setting)) return part_ == Part::encoder;
    if (part_ == Part::encoder || !is_planned(setting.code)) return false;
    const bool is_bare = setting.is_bare && setting.code != AttentionCode::trtllm;
    if (is_bare) return part_ == (setting.code == AttentionCode::fa2 ? Part::torch : Part::bare);
    if (without_framework(part_) || of_trtllm(part_) != setting.is_trtllm) return false;
    if (!of_prompts(part_)) return runs_as(*attention, setting, true);
    return runs_as(*attention, setting, false) ||
           (load.prefill.sequences > 0 && load.decode.sequences > 0 && runs_as_one_launch(setting));
  }

  [[nodiscard]] FirstOrder first_order(const Kernel& kernel, const GpuSpec& gpu) const override {
    return first_order(kernel, price(kernel, attention_setting(kernel, gpu), gpu));
  }

  void features(const Kernel& kernel, const GpuSpec& gpu, FeatureSink& out) const override {
    const AttentionSetting setting = attention_setting(kernel, gpu);
    write(std::get<Attention>(kernel), setting, price(kernel, setting, gpu), part_, out);
  }

  [[nodiscard]] Seconds cold_extra(const Kernel& kernel, const GpuSpec& gpu) const override {
    if (without_framework(part_)) return Seconds(0.0);
    return cold_extra(price(kernel, attention_setting(kernel, gpu), gpu));
  }

  [[nodiscard]] Parts parts(const Kernel& kernel, const GpuSpec& gpu,
                            FeatureSink& out) const override {
    const AttentionSetting setting = attention_setting(kernel, gpu);
    const PlanEstimate estimate = price(kernel, setting, gpu);
    write(std::get<Attention>(kernel), setting, estimate, part_, out);
    return {first_order(kernel, estimate), cold_extra(estimate)};
  }

  [[nodiscard]] std::optional<Substitute> substitute(const Kernel& kernel,
                                                     const GpuSpec& gpu) const override {
    if (part_ != Part::decode && part_ != Part::trtllm_decode) return {};
    const auto& attention = std::get<Attention>(kernel);
    const auto equal = levelled(attention, gpu);
    if (!equal) return {};
    return Substitute{*equal, levelling_error(attention.load.decode, equal->load.decode)};
  }

  [[nodiscard]] Seconds comparable_time(const Kernel& kernel, const GpuSpec& gpu,
                                        const GpuSpec& placed) const override {
    const PlanEstimate estimate = price(kernel, attention_setting(kernel, gpu), gpu, placed);
    return Seconds(estimate.total_compared * 1e-6);
  }

 private:
  [[nodiscard]] PlanEstimate price(const Kernel& kernel, const AttentionSetting& setting,
                                   const GpuSpec& gpu) const {
    return price(kernel, setting, gpu, gpu);
  }

  [[nodiscard]] PlanEstimate price(const Kernel& kernel, const AttentionSetting& setting,
                                   const GpuSpec& gpu, const GpuSpec& placed) const {
    const AttentionLoad& load = std::get<Attention>(kernel).load;
    const bool is_decode = part_ == Part::decode || part_ == Part::trtllm_decode ||
                           (without_framework(part_) && load.prefill.sequences == 0);
    return estimate_plan(kernel, setting, is_decode, gpu, placed);
  }

  [[nodiscard]] FirstOrder first_order(const Kernel& kernel, const PlanEstimate& estimate) const {
    const bool is_cold =
        without_framework(part_) && std::get<Attention>(kernel).implementation.is_cold;
    return {Seconds((is_cold ? estimate.total_cold : estimate.total) * 1e-6), estimate.bound};
  }

  [[nodiscard]] Seconds cold_extra(const PlanEstimate& estimate) const {
    if (without_framework(part_)) return Seconds(0.0);
    return Seconds((estimate.total_cold - estimate.total) * 1e-6);
  }

  std::string_view name_;
  Part part_;
  std::vector<std::string> names_;
};

}  // namespace

const EstimatorFamily& attention_bare_family() {
  static const PlanFamily family("attention_bare", Part::bare);
  return family;
}

const EstimatorFamily& attention_torch_family() {
  static const PlanFamily family("attention_torch", Part::torch);
  return family;
}

const EstimatorFamily& attention_decode_family() {
  static const PlanFamily family("attention_decode", Part::decode);
  return family;
}

const EstimatorFamily& attention_encoder_family() {
  static const PlanFamily family("attention_encoder", Part::encoder);
  return family;
}

const EstimatorFamily& attention_prefill_family() {
  static const PlanFamily family("attention_prefill", Part::prefill);
  return family;
}

const EstimatorFamily& attention_decode_trtllm_family() {
  static const PlanFamily family("attention_decode_trtllm", Part::trtllm_decode);
  return family;
}

const EstimatorFamily& attention_prefill_trtllm_family() {
  static const PlanFamily family("attention_prefill_trtllm", Part::trtllm_prefill);
  return family;
}

}  // namespace foretoken
