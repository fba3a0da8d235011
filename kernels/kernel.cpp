// Names and hashes of kernels. The hash is on the hot path (one lookup a kernel a step), so it
// mixes whole 64-bit words. Fields are those that a kind describes, or taken by structured
// bindings: then a struct that gains a field does not compile until its hash covers it.
#include "kernels/kernel.hpp"

#include <bit>
#include <type_traits>

namespace foretoken {
namespace {

/// Each step is a bijection of the state for a given word and of the word for a given state: two
/// kernels that differ in one field never collide.
class WordHash {
 public:
  explicit WordHash(std::uint64_t first) : state_(first + 1) {}

  template <class... Fields>
  void add(const Fields&... fields) {
    (mix(fields), ...);
  }

  [[nodiscard]] std::uint64_t value() const {
    std::uint64_t folded = state_ ^ (state_ >> 32);
    folded *= spread;
    return folded ^ (folded >> 29);
  }

 private:
  // Odd 64-bit constants: the golden ratio, and the square root of two, as binary fractions.
  static constexpr std::uint64_t scramble = 0x9e3779b97f4a7c15ULL;
  static constexpr std::uint64_t spread = 0x6a09e667f3bcc909ULL;

  void word(std::uint64_t bits) { state_ = std::rotl(state_ ^ (bits * scramble), 29) * spread; }

  template <class Integer>
  requires std::is_integral_v<Integer> || std::is_enum_v<Integer>
  void mix(Integer field) { word(static_cast<std::uint64_t>(field)); }

  void mix(double field) { word(std::bit_cast<std::uint64_t>(field + 0.0)); }  // -0 equals 0

  void mix(const SequenceSlice& slice) {
    const auto& [query_tokens, context_tokens] = slice;
    add(query_tokens, context_tokens);
  }

  void mix(const LoadSums& sums) {
    const auto& [sequences, query_tokens, context_tokens, context_max, query_max, pairs] = sums;
    add(sequences, query_tokens, context_tokens, context_max, query_max, pairs);
  }

  void mix(const StateLoad& load) {
    const auto& [prefill_sequences, prefill_tokens, decode_sequences, decode_tokens, longest] =
        load;
    add(prefill_sequences, prefill_tokens, decode_sequences, decode_tokens, longest);
  }

  void mix(const AttentionLoad& load) {
    const auto& [prefill, decode, sequences] = load;
    add(prefill, decode, sequences);
  }

  void mix(const Routing& routing) {
    const auto& [kind, parameter, counts] = routing;
    add(kind, parameter, counts);
  }

  void mix(const Implementation& implementation) {
    const auto& [framework, source, is_cold] = implementation;
    word(static_cast<std::uint64_t>(framework) | static_cast<std::uint64_t>(source) << 8 |
         static_cast<std::uint64_t>(is_cold) << 16);
  }

  template <class Element>
  void mix(const std::vector<Element>& elements) {
    word(elements.size());
    for (const Element& element : elements) mix(element);
  }

  std::uint64_t state_;
};

void add(WordHash& hash, const Attention& kernel) {
  const auto& [query_heads, kv_heads, head_dim, dtype, kv_dtype, causal, window, page_tokens, load,
               implementation] = kernel;
  hash.add(query_heads, kv_heads, head_dim, dtype, kv_dtype, causal, window, page_tokens, load,
           implementation);
}

void add(WordHash& hash, const Mla& kernel) {
  const auto& [query_heads, latent_dim, rope_dim, dtype, kv_dtype, load, implementation, nope_dim,
               value_dim, expands_cached] = kernel;
  hash.add(query_heads, latent_dim, rope_dim, dtype, kv_dtype, load, implementation, nope_dim,
           value_dim, expands_cached);
}

void add(WordHash& hash, const FusedMoe& kernel) {
  const auto& [tokens, experts, topk, hidden, intermediate, dtype, tp, ep, routing, implementation,
               ungated, redundant, placed_by_load] = kernel;
  hash.add(tokens, experts, topk, hidden, intermediate, dtype, tp, ep, routing, implementation,
           ungated, redundant, placed_by_load);
}

void add(WordHash& hash, const Gemm& kernel) {
  const auto& [m, n, k, dtype, implementation] = kernel;
  hash.add(m, n, k, dtype, implementation);
}

void add(WordHash& hash, const BatchedGemm& kernel) {
  const auto& [batch, m, n, k, dtype, implementation] = kernel;
  hash.add(batch, m, n, k, dtype, implementation);
}

template <DescribedKernel Kind>
void add(WordHash& hash, const Kind& kernel) {
  for_each_field(kernel, [&](std::string_view, const auto& field) { hash.add(field); });
  if constexpr (requires { kernel.is_cold; }) hash.add(kernel.is_cold);
}

void add(WordHash& hash, const Collective& kernel) {
  const auto& [op, group, ranks, bytes, experts] = kernel;
  hash.add(op, group, ranks, bytes, experts.experts, experts.topk, experts.mode,
           experts.groups.count, experts.groups.chosen);
}

void add(WordHash& hash, const StateScan& kernel) {
  const auto& [kind, key_heads, value_heads, key_dim, value_dim, dtype, state_dtype, load,
               implementation] = kernel;
  hash.add(kind, key_heads, value_heads, key_dim, value_dim, dtype, state_dtype, load,
           implementation);
}

void add(WordHash& hash, const StateConvolution& kernel) {
  const auto& [channels, taps, dtype, load, implementation] = kernel;
  hash.add(channels, taps, dtype, load, implementation);
}

void add(WordHash& hash, const KeyIndexer& kernel) {
  const auto& [heads, head_dim, selected, block, ratio, dtype, load, implementation] = kernel;
  hash.add(heads, head_dim, selected, block, ratio, dtype, load, implementation);
}

void add(WordHash& hash, const SparseAttention& kernel) {
  const auto& [query_heads, kv_heads, key_dim, value_dim, values_are_keys, selected, ratio, window,
               dtype, kv_dtype, load, implementation] = kernel;
  hash.add(query_heads, kv_heads, key_dim, value_dim, values_are_keys, selected, ratio, window,
           dtype, kv_dtype, load, implementation);
}

void add(WordHash& hash, const HyperConnection& kernel) {
  const auto& [tokens, hidden, streams, part, dtype, is_cold] = kernel;
  hash.add(tokens, hidden, streams, part, dtype, is_cold);
}

/// Where a kernel says whether it is cold; nullptr for those that cannot.
template <class Kind>
auto* cold_flag(Kind& kernel) {
  if constexpr (requires { kernel.implementation; }) {
    return &kernel.implementation.is_cold;
  } else if constexpr (requires { kernel.is_cold; }) {
    return &kernel.is_cold;
  } else {
    return static_cast<bool*>(nullptr);
  }
}

}  // namespace

std::string_view kernel_name(const Kernel& kernel) {
  if (const auto* collective = std::get_if<Collective>(&kernel)) return enum_name(collective->op);
  return std::visit([](const auto& alternative) { return alternative.type_name; }, kernel);
}

std::uint64_t kernel_hash(const Kernel& kernel) {
  WordHash hash(kernel.index());
  std::visit([&](const auto& alternative) { add(hash, alternative); }, kernel);
  return hash.value();
}

std::optional<bool> cold_state(const Kernel& kernel) {
  return std::visit(
      [](const auto& value) -> std::optional<bool> {
        const bool* const flag = cold_flag(value);
        return flag != nullptr ? std::optional(*flag) : std::nullopt;
      },
      kernel);
}

void set_cold(Kernel& kernel, bool is_cold) {
  std::visit(
      [&](auto& value) {
        if (bool* const flag = cold_flag(value)) *flag = is_cold;
      },
      kernel);
}

}  // namespace foretoken
