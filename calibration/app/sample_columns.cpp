#include "calibration/app/sample_columns.hpp"

#include <fmt/format.h>

namespace foretoken {
namespace {

template <class Number>
std::string text(Number value) {
  return fmt::format("{}", value);
}

void add_implementation(Columns& columns, const Implementation& implementation) {
  columns.emplace_back("framework", enum_name(implementation.framework));
  columns.emplace_back("source", enum_name(implementation.source));
  columns.emplace_back("cold", implementation.is_cold ? "1" : "0");
}

void add_load(Columns& columns, const AttentionLoad& load) {
  columns.emplace_back("prefill_sequences", text(load.prefill.sequences));
  columns.emplace_back("prefill_queries", text(load.prefill.query_tokens));
  columns.emplace_back("prefill_context", text(load.prefill.context_tokens));
  columns.emplace_back("prefill_context_max", text(load.prefill.context_tokens_max));
  columns.emplace_back("prefill_pairs", text(load.prefill.causal_pairs));
  columns.emplace_back("decode_sequences", text(load.decode.sequences));
  columns.emplace_back("decode_context", text(load.decode.context_tokens));
  columns.emplace_back("decode_context_max", text(load.decode.context_tokens_max));
}

struct ColumnsOf {
  Columns operator()(const Gemm& kernel) const {
    Columns columns = {{"m", text(kernel.m)},
                       {"n", text(kernel.n)},
                       {"k", text(kernel.k)},
                       {"dtype", std::string(enum_name(kernel.dtype))}};
    add_implementation(columns, kernel.implementation);
    return columns;
  }
  Columns operator()(const BatchedGemm& kernel) const {
    return {{"batch", text(kernel.batch)},
            {"m", text(kernel.m)},
            {"n", text(kernel.n)},
            {"k", text(kernel.k)},
            {"dtype", std::string(enum_name(kernel.dtype))}};
  }
  Columns operator()(const Attention& kernel) const {
    Columns columns = {{"query_heads", text(kernel.query_heads)},
                       {"kv_heads", text(kernel.kv_heads)},
                       {"head_dim", text(kernel.head_dim)},
                       {"dtype", std::string(enum_name(kernel.dtype))},
                       {"kv_dtype", std::string(enum_name(kernel.kv_dtype))},
                       {"window", text(kernel.window)},
                       {"page_tokens", text(kernel.page_tokens)}};
    add_load(columns, kernel.load);
    add_implementation(columns, kernel.implementation);
    return columns;
  }
  Columns operator()(const Mla& kernel) const {
    Columns columns = {{"query_heads", text(kernel.query_heads)},
                       {"dtype", std::string(enum_name(kernel.dtype))},
                       {"kv_dtype", std::string(enum_name(kernel.kv_dtype))}};
    add_load(columns, kernel.load);
    add_implementation(columns, kernel.implementation);
    return columns;
  }
  Columns operator()(const FusedMoe& kernel) const {
    Columns columns = {{"tokens", text(kernel.tokens)},
                       {"experts", text(kernel.experts)},
                       {"topk", text(kernel.topk)},
                       {"hidden", text(kernel.hidden)},
                       {"intermediate", text(kernel.intermediate)},
                       {"tp", text(kernel.tp)},
                       {"ep", text(kernel.ep)},
                       {"routing", routing_text(kernel.routing)},
                       {"dtype", std::string(enum_name(kernel.dtype))}};
    add_implementation(columns, kernel.implementation);
    return columns;
  }
  Columns operator()(const KvWrite& kernel) const {
    return {{"tokens", text(kernel.tokens)},
            {"kv_heads", text(kernel.kv_heads)},
            {"head_dim", text(kernel.head_dim)}};
  }
  Columns operator()(const Sampling& kernel) const {
    return {{"rows", text(kernel.rows)}, {"vocabulary", text(kernel.vocabulary)}};
  }
  Columns operator()(const TopKRouting& kernel) const {
    return {{"tokens", text(kernel.tokens)},
            {"experts", text(kernel.experts)},
            {"topk", text(kernel.topk)}};
  }
  Columns operator()(const Collective& kernel) const {
    return {{"ranks", text(kernel.ranks)}, {"bytes", text(kernel.bytes)}};
  }
  template <class Rows>
  Columns operator()(const Rows& kernel) const {
    if constexpr (requires { kernel.dim; }) {
      return {{"tokens", text(kernel.tokens)}, {"dim", text(kernel.dim)}};
    } else {
      return {{"tokens", text(kernel.tokens)},
              {"heads", text(kernel.heads)},
              {"head_dim", text(kernel.head_dim)}};
    }
  }
};

}  // namespace

Columns kernel_columns(const Kernel& kernel) { return std::visit(ColumnsOf{}, kernel); }

}  // namespace foretoken
