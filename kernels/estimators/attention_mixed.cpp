#include "kernels/estimators/attention_mixed.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/estimators/attention_model.hpp"

namespace foretoken {
namespace {

/// Of the fixed costs of two launches, what a single one saves: all that a launch has beside its
/// work where one kernel takes both kinds, a share of the framework's where there are two.
constexpr double shared_one_kernel = 7e-6, shared_two_kernels = 2e-6, shared_bare = 2e-6;  // s

AttentionLoad part(const AttentionLoad& load, bool is_prefill) {
  AttentionLoad result;
  (is_prefill ? result.prefill : result.decode) = is_prefill ? load.prefill : load.decode;
  return result;
}

AttentionLoad as_prefill(const AttentionLoad& decode) {
  AttentionLoad result;
  result.prefill = decode.decode;
  return result;
}

const AttentionLoad& load_of(const Kernel& kernel) {
  if (const auto* attention = std::get_if<Attention>(&kernel)) return attention->load;
  return std::get<Mla>(kernel).load;
}

/// `kernel` with another load. Lists of sequences, which families do not read, are not copied.
Kernel with_load(const Kernel& kernel, AttentionLoad load) {
  if (const auto* attention = std::get_if<Attention>(&kernel)) {
    return Attention{attention->query_heads,   attention->kv_heads,    attention->head_dim,
                     attention->dtype,         attention->kv_dtype,    attention->causal,
                     attention->window,        attention->page_tokens, std::move(load),
                     attention->implementation};
  }
  const auto& mla = std::get<Mla>(kernel);
  return Mla{mla.query_heads, mla.latent_dim,  mla.rope_dim,      mla.dtype,
             mla.kv_dtype,    std::move(load), mla.implementation};
}

bool runs_as_one_kernel(AttentionCode code) {
  return code != AttentionCode::flashinfer && code != AttentionCode::trtllm;
}

}  // namespace

MixedAttention split_mixed_attention(const Kernel& kernel, const GpuSpec& gpu) {
  const AttentionLoad& load = load_of(kernel);
  FORETOKEN_CHECK(load.prefill.sequences > 0 && load.decode.sequences > 0,
                  "{} prefill and {} decode sequences", load.prefill.sequences,
                  load.decode.sequences);
  MixedAttention result{with_load(kernel, part(load, true)), with_load(kernel, part(load, false)),
                        Seconds(shared_two_kernels)};
  if (!std::holds_alternative<Attention>(kernel)) return result;
  const AttentionSetting setting = attention_setting(kernel, gpu);
  const bool is_one = runs_as_one_kernel(setting.code);
  result.shared = Seconds(setting.is_bare ? shared_bare
                          : is_one        ? shared_one_kernel
                                          : shared_two_kernels);
  if (setting.code == AttentionCode::fa2 && !setting.is_sglang) {
    result.decode = with_load(kernel, as_prefill(load_of(result.decode)));
  }
  return result;
}

std::optional<Seconds> one_launch_time(const Kernel& kernel, const GpuSpec& gpu) {
  const auto* attention = std::get_if<Attention>(&kernel);
  if (attention == nullptr || attention->window > 0) return std::nullopt;
  const AttentionSetting setting = attention_setting(kernel, gpu);
  if (!setting.is_bare || setting.code != AttentionCode::fa2) return std::nullopt;

  // Multiplications of older tensor-core instructions, all that this kernel has, and the latency of
  // a step over 64 keys: fitted to the H200, whose best rate is the A100's.
  constexpr double ops_max = 1290, ops_share = 0.63;  // a clock and SM; of the peak
  constexpr double ops_other_dims = 0.8;              // head_dim other than 128
  constexpr double keys = 64;                         // of a tile
  constexpr double fixed = 4.5e-6;                    // s
  constexpr double overlap = 1.5;                     // power mean of throughput and latency
  const bool is_wide = attention->head_dim > 128;
  const double rows = is_wide ? 64 : 128;  // of a tile
  const double step_cycles = attention->head_dim <= 64 ? 2'380 : is_wide ? 4'390 : 4'210;
  double ops = std::min(ops_max, ops_share * product_ops(attention->dtype, gpu));
  if (attention->head_dim != 128) ops *= ops_other_dims;

  // Steps over 64 keys of all tiles. A sequence's last tile and last step are half full on average.
  const LoadSums& prefill = attention->load.prefill;
  const LoadSums& decode = attention->load.decode;
  const auto queries = static_cast<double>(prefill.query_tokens);
  const double tiles = queries / rows + 0.5 * static_cast<double>(prefill.sequences);
  const double seen = queries > 0 ? prefill.causal_pairs / queries + rows / 2 + keys / 2 : 0;
  const double steps = attention->query_heads *
                       (tiles * seen / keys + static_cast<double>(decode.context_tokens) / keys +
                        0.5 * static_cast<double>(decode.sequences));
  const double longest =
      static_cast<double>(std::max(prefill.context_tokens_max, decode.context_tokens_max)) / keys;
  const double all_sms =
      steps / gpu.sm_count * (4 * rows * keys * attention->head_dim / ops) / gpu.clock.value();
  const double one_sm = longest * step_cycles / gpu.clock.value();
  return Seconds(fixed +
                 std::pow(std::pow(all_sms, overlap) + std::pow(one_sm, overlap), 1 / overlap));
}

std::optional<Kernel> without_drafts(const Kernel& kernel) {
  const bool is_attention =
      std::holds_alternative<Attention>(kernel) || std::holds_alternative<Mla>(kernel);
  if (!is_attention || !load_of(kernel).verifies_drafts()) return std::nullopt;
  if (load_of(kernel).prefill.sequences > 0) return std::nullopt;
  AttentionLoad load;
  load.decode = load_of(kernel).decode;
  load.decode.query_tokens = load.decode.sequences;
  load.decode.query_tokens_max = 1;
  load.decode.causal_pairs = static_cast<double>(load.decode.context_tokens);
  return with_load(kernel, std::move(load));
}

Prediction price_apart(const Predictor& predictor, const Kernel& kernel, const GpuSpec& gpu) {
  const MixedAttention parts = split_mixed_attention(kernel, gpu);
  const Prediction prefill = predictor.predict(parts.prefill, gpu);
  const Prediction decode = predictor.predict(parts.decode, gpu);
  Prediction sum = prefill.time >= decode.time ? prefill : decode;
  sum.time = prefill.time + decode.time;
  return sum;
}

}  // namespace foretoken
