// What counts as one layout, and which layouts are held out.
#include "calibration/datasets/importer.hpp"
#include "sim/base/fingerprint.hpp"

namespace foretoken {
namespace {

constexpr std::string_view sharding_mark = " / ";
constexpr std::uint64_t held_out_percent = 15;

struct LayoutOf {
  std::string operator()(const Gemm& kernel) const { return gemm_layout(kernel); }
  std::string operator()(const BatchedGemm& kernel) const {
    return fmt::format("{} x n{} k{}", kernel.batch, kernel.n, kernel.k);
  }
  std::string operator()(const Attention& kernel) const { return attention_layout(kernel); }
  std::string operator()(const Mla& kernel) const { return mla_layout(kernel); }
  std::string operator()(const FusedMoe& kernel) const { return moe_layout(kernel); }
  std::string operator()(const RmsNorm& kernel) const { return width(kernel.dim); }
  std::string operator()(const FusedAddRmsNorm& kernel) const { return width(kernel.dim); }
  std::string operator()(const SiluAndMul& kernel) const { return width(kernel.dim); }
  std::string operator()(const Embedding& kernel) const { return width(kernel.dim); }
  std::string operator()(const QkNorm& kernel) const { return heads(kernel); }
  std::string operator()(const Rope& kernel) const { return heads(kernel); }
  std::string operator()(const KvWrite& kernel) const {
    return fmt::format("kv{} d{}", kernel.kv_heads, kernel.head_dim);
  }
  std::string operator()(const Sampling& kernel) const { return width(kernel.vocabulary); }
  std::string operator()(const TopKRouting& kernel) const {
    return fmt::format("top{} of {}", kernel.topk, kernel.experts);
  }
  std::string operator()(const StateScan& kernel) const {
    return fmt::format("q{} v{} {}x{} {}", kernel.key_heads, kernel.value_heads, kernel.key_dim,
                       kernel.value_dim, enum_name(kernel.kind));
  }
  std::string operator()(const StateConvolution& kernel) const { return width(kernel.channels); }
  // Measured in one or two head layouts each: what a split must keep together is a number of
  // sequences (tokens) with all its lengths.
  std::string operator()(const KeyIndexer& kernel) const {
    return fmt::format("q{} d{} best {} ratio {} x {}", kernel.heads, kernel.head_dim,
                       kernel.selected, kernel.ratio, sequences(kernel.load));
  }
  std::string operator()(const SparseAttention& kernel) const {
    return fmt::format("q{} kv{} d{} best {} ratio {} x {}", kernel.query_heads, kernel.kv_heads,
                       kernel.key_dim, kernel.selected, kernel.ratio, sequences(kernel.load));
  }
  std::string operator()(const HyperConnection& kernel) const {
    return fmt::format("{} of d{} x {}", kernel.streams, kernel.hidden, kernel.tokens);
  }
  std::string operator()(const Collective& kernel) const {
    return fmt::format("{} ranks", kernel.ranks);
  }

  static std::int64_t sequences(const AttentionLoad& load) {
    return load.prefill.sequences + load.decode.sequences;
  }

  /// Every size but the first, which is how many rows there are.
  template <DescribedKernel Kind>
  std::string operator()(const Kind& kernel) const {
    std::string text;
    bool is_first = true;
    for_each_field(kernel, [&](std::string_view name, const auto& field) {
      if constexpr (!std::is_enum_v<std::remove_cvref_t<decltype(field)>>) {
        if (!is_first) text += fmt::format("{}{} {}", text.empty() ? "" : " ", name, field);
        is_first = false;
      }
    });
    return text;
  }

  static std::string width(std::int64_t dim) { return fmt::format("d{}", dim); }
  template <class TokensAndHeads>
  static std::string heads(const TokensAndHeads& kernel) {
    return fmt::format("q{} d{}", kernel.heads, kernel.head_dim);
  }
};

}  // namespace

std::string gemm_layout(const Gemm& gemm) { return fmt::format("n{} k{}", gemm.n, gemm.k); }

std::string attention_layout(const Attention& attention) {
  return fmt::format("q{} kv{} d{}", attention.query_heads, attention.kv_heads, attention.head_dim);
}

std::string mla_layout(const Mla& mla) { return fmt::format("q{} mla", mla.query_heads); }

std::string moe_layout(const FusedMoe& moe) {
  return fmt::format("h{} i{} top{} of {}{}tp{} ep{}", moe.hidden, moe.intermediate, moe.topk,
                     moe.experts, sharding_mark, moe.tp, moe.ep);
}

std::string kernel_layout(const Kernel& kernel) { return std::visit(LayoutOf{}, kernel); }

bool is_held_out_layout(const std::string& layout) {
  // FNV-1a's low bits mix poorly over short texts; the high half is folded in.
  const std::uint64_t hash = Fingerprint().add(std::string_view(layout)).value();
  return (hash ^ (hash >> 32)) % 100 < held_out_percent;
}

std::string_view unsharded_layout(std::string_view layout) {
  return layout.substr(0, layout.find(sharding_mark));
}

}  // namespace foretoken
