#include "kernels/kernel_shape.hpp"

#include <fmt/format.h>

namespace foretoken {
namespace {

/// "8 prompts of 2048", "3 chunks of 512 on 4096", "256 decodes of 1200"; means where they differ.
std::string load_shape(const AttentionLoad& load) {
  std::string text;
  const auto append = [&](const LoadSums& sums, bool is_decode) {
    if (sums.sequences == 0) return;
    const std::int64_t queries = sums.query_tokens / sums.sequences;
    const std::int64_t context = sums.context_tokens / sums.sequences;
    if (!text.empty()) text += " + ";
    if (is_decode && queries > 1) {
      text += fmt::format("{} verifications of {} in {}", sums.sequences, queries, context);
    } else if (is_decode) {
      text += fmt::format("{} decodes of {}", sums.sequences, context);
    } else if (queries == context) {
      text += fmt::format("{} prompts of {}", sums.sequences, queries);
    } else {
      text += fmt::format("{} chunks of {} in {}", sums.sequences, queries, context);
    }
  };
  append(load.prefill, false);
  append(load.decode, true);
  return text;
}

/// "8 prompts of 2048 + 64 decodes"
std::string state_load_shape(const StateLoad& load) {
  std::string text;
  if (load.prefill_sequences > 0) {
    text = fmt::format("{} prompts of {}", load.prefill_sequences,
                       load.prefill_tokens / load.prefill_sequences);
    if (load.prefill_longest > 0) text += fmt::format(" (longest {})", load.prefill_longest);
  }
  if (load.decode_sequences > 0) {
    if (!text.empty()) text += " + ";
    text += fmt::format("{} decodes", load.decode_sequences);
    if (load.decode_tokens > load.decode_sequences) {
      text += fmt::format(" of {} tokens", load.decode_tokens / load.decode_sequences);
    }
  }
  return text;
}

struct ShapeOf {
  std::string operator()(const Gemm& k) const {
    return fmt::format("m {} n {} k {} {}", k.m, k.n, k.k, enum_name(k.dtype));
  }
  std::string operator()(const BatchedGemm& k) const {
    return fmt::format("{} of m {} n {} k {} {}", k.batch, k.m, k.n, k.k, enum_name(k.dtype));
  }
  std::string operator()(const Attention& k) const {
    return fmt::format("{} heads on {} of {}, {}{}{}", k.query_heads, k.kv_heads, k.head_dim,
                       load_shape(k.load), dtypes(k.dtype, k.kv_dtype),
                       k.window > 0 ? fmt::format(" window {}", k.window) : "");
  }
  std::string operator()(const Mla& k) const {
    return fmt::format("{} heads, {}{}", k.query_heads, load_shape(k.load),
                       dtypes(k.dtype, k.kv_dtype));
  }
  std::string operator()(const StateScan& k) const {
    return fmt::format("{}: {} heads of {} x {}, {}", enum_name(k.kind), k.value_heads, k.key_dim,
                       k.value_dim, state_load_shape(k.load));
  }
  std::string operator()(const StateConvolution& k) const {
    return fmt::format("{} channels, {} taps, {}", k.channels, k.taps, state_load_shape(k.load));
  }
  std::string operator()(const KeyIndexer& k) const {
    return fmt::format("{} heads of {}, best {} keys{}{}, {}", k.heads, k.head_dim, k.selected,
                       k.block > 1 ? fmt::format(" by blocks of {}", k.block) : "",
                       k.ratio > 1 ? fmt::format(" of {} tokens", k.ratio) : "",
                       load_shape(k.load));
  }
  std::string operator()(const SparseAttention& k) const {
    std::string keys = k.selected > 0 ? fmt::format("{} keys", k.selected) : "all keys";
    if (k.ratio > 1) keys += fmt::format(" of {} tokens", k.ratio);
    if (k.window > 0) keys += fmt::format(" and the latest {}", k.window);
    return fmt::format("{} heads on {} of {}, {}, {}{}", k.query_heads, k.kv_heads, k.key_dim, keys,
                       load_shape(k.load), dtypes(k.dtype, k.kv_dtype));
  }
  std::string operator()(const HyperConnection& k) const {
    return fmt::format("{}: {} tokens, {} streams of {}", enum_name(k.part), k.tokens, k.streams,
                       k.hidden);
  }
  std::string operator()(const FusedMoe& k) const {
    std::string placed = k.placed_by_load ? ", placed by load" : "";
    if (k.redundant > 0) placed += fmt::format(" with {} copies", k.redundant);
    return fmt::format("{} tokens, top {} of {}, {} x {} {}{}, tp {} ep {}, {}{}", k.tokens, k.topk,
                       k.experts, k.hidden, k.intermediate, enum_name(k.dtype),
                       k.ungated ? " without gate" : "", k.tp, k.ep, routing_shape(k.routing),
                       placed);
  }
  std::string operator()(const KvWrite& k) const {
    return fmt::format("{} tokens, {} heads of {}", k.tokens, k.kv_heads, k.head_dim);
  }
  std::string operator()(const Sampling& k) const {
    return fmt::format("{} rows of {}", k.rows, k.vocabulary);
  }
  std::string operator()(const DraftVerification& k) const {
    return fmt::format("{} rows of {} for {} sequences", k.rows, k.vocabulary, k.sequences);
  }
  std::string operator()(const TopKRouting& k) const {
    return fmt::format("{} tokens, top {} of {}", k.tokens, k.topk, k.experts);
  }
  std::string operator()(const Collective& k) const {
    return fmt::format("{} ranks, {} bytes", k.ranks, k.bytes);
  }
  template <DescribedKernel Kind>
  std::string operator()(const Kind& k) const {
    if constexpr (requires { k.dim; }) {
      return fmt::format("{} tokens of {}", k.tokens, k.dim);
    } else if constexpr (requires { k.heads; }) {
      return fmt::format("{} tokens, {} heads of {}", k.tokens, k.heads, k.head_dim);
    } else {
      return sizes(k);
    }
  }

  /// "64 tokens, width 4096"
  template <DescribedKernel Kind>
  static std::string sizes(const Kind& kernel) {
    std::string text;
    for_each_field(kernel, [&](std::string_view name, const auto& field) {
      if constexpr (!std::is_enum_v<std::remove_cvref_t<decltype(field)>>) {
        text +=
            text.empty() ? fmt::format("{} {}", field, name) : fmt::format(", {} {}", name, field);
      }
    });
    return text;
  }

  static std::string dtypes(DType dtype, DType kv_dtype) {
    if (dtype == kv_dtype) return fmt::format(" {}", enum_name(dtype));
    return fmt::format(" {}, cache {}", enum_name(dtype), enum_name(kv_dtype));
  }

  /// A histogram of hundreds of experts says little as a list.
  static std::string routing_shape(const Routing& routing) {
    return routing.kind == Routing::Kind::histogram ? "histogram" : routing_text(routing);
  }
};

}  // namespace

std::string kernel_shape(const Kernel& kernel) { return std::visit(ShapeOf{}, kernel); }

}  // namespace foretoken
