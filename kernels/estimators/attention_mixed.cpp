#include "kernels/estimators/attention_mixed.hpp"

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

Prediction price_apart(const Predictor& predictor, const Kernel& kernel, const GpuSpec& gpu) {
  const MixedAttention parts = split_mixed_attention(kernel, gpu);
  const Prediction prefill = predictor.predict(parts.prefill, gpu);
  const Prediction decode = predictor.predict(parts.decode, gpu);
  Prediction sum = prefill.time >= decode.time ? prefill : decode;
  sum.time = prefill.time + decode.time;
  return sum;
}

}  // namespace foretoken
