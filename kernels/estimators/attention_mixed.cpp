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

/// One kind of sequences of `load`.
AttentionLoad part(const AttentionLoad& load, bool is_prefill) {
  AttentionLoad result;
  (is_prefill ? result.prefill : result.decode) = is_prefill ? load.prefill : load.decode;
  for (const SequenceSlice& slice : load.sequences) {
    if (load.is_decode(slice) != is_prefill) result.sequences.push_back(slice);
  }
  return result;
}

AttentionLoad as_prefill(const AttentionLoad& decode) {
  AttentionLoad result;
  result.prefill = decode.decode;
  result.sequences = decode.sequences;
  return result;
}

const AttentionLoad& load_of(const Kernel& kernel) {
  if (const auto* attention = std::get_if<Attention>(&kernel)) return attention->load;
  return std::get<Mla>(kernel).load;
}

/// `kernel` with another load.
Kernel with_load(const Kernel& kernel, AttentionLoad load) {
  if (const auto* attention = std::get_if<Attention>(&kernel)) {
    return Attention{attention->query_heads,   attention->kv_heads,    attention->head_dim,
                     attention->dtype,         attention->kv_dtype,    attention->causal,
                     attention->window,        attention->page_tokens, std::move(load),
                     attention->implementation};
  }
  const auto& mla = std::get<Mla>(kernel);
  return Mla{mla.query_heads, mla.latent_dim,     mla.rope_dim, mla.dtype,     mla.kv_dtype,
             std::move(load), mla.implementation, mla.nope_dim, mla.value_dim, mla.expands_cached};
}

}  // namespace

bool runs_as_one_launch(const AttentionSetting& setting) {
  if (setting.code == AttentionCode::flashinfer) return setting.is_sglang || setting.is_bare;
  return setting.code != AttentionCode::trtllm;
}

MixedAttention split_mixed_attention(const Kernel& kernel, const GpuSpec& gpu) {
  const AttentionLoad& load = load_of(kernel);
  FORETOKEN_CHECK(load.prefill.sequences > 0 && load.decode.sequences > 0,
                  "{} prefill and {} decode sequences", load.prefill.sequences,
                  load.decode.sequences);
  MixedAttention result{with_load(kernel, part(load, true)), with_load(kernel, part(load, false)),
                        Seconds(shared_two_kernels)};
  if (!std::holds_alternative<Attention>(kernel)) return result;
  const AttentionSetting setting = attention_setting(kernel, gpu);
  const bool is_one = runs_as_one_launch(setting);
  result.shared = Seconds(setting.is_bare ? shared_bare
                          : is_one        ? shared_one_kernel
                                          : shared_two_kernels);
  if (setting.code == AttentionCode::fa2 && !setting.is_sglang) {
    result.decode = with_load(kernel, as_prefill(load_of(result.decode)));
  }
  return result;
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
  for (const SequenceSlice& slice : load_of(kernel).sequences) {
    load.sequences.push_back({1, slice.context_tokens});
  }
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
