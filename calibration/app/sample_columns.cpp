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

void add_state_load(Columns& columns, const StateLoad& load) {
  columns.emplace_back("prefill_sequences", text(load.prefill_sequences));
  columns.emplace_back("prefill_tokens", text(load.prefill_tokens));
  columns.emplace_back("decode_sequences", text(load.decode_sequences));
  columns.emplace_back("decode_tokens", text(load.decode_tokens));
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
    Columns columns = {{"batch", text(kernel.batch)},
                       {"m", text(kernel.m)},
                       {"n", text(kernel.n)},
                       {"k", text(kernel.k)},
                       {"dtype", std::string(enum_name(kernel.dtype))}};
    add_implementation(columns, kernel.implementation);
    return columns;
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
                       {"dtype", std::string(enum_name(kernel.dtype))},
                       {"ungated", kernel.ungated ? "true" : "false"}};
    add_implementation(columns, kernel.implementation);
    return columns;
  }
  Columns operator()(const Collective& kernel) const {
    return {{"ranks", text(kernel.ranks)}, {"bytes", text(kernel.bytes)}};
  }
  Columns operator()(const StateScan& kernel) const {
    Columns columns = {{"kind", std::string(enum_name(kernel.kind))},
                       {"key_heads", text(kernel.key_heads)},
                       {"value_heads", text(kernel.value_heads)},
                       {"key_dim", text(kernel.key_dim)},
                       {"value_dim", text(kernel.value_dim)},
                       {"state_dtype", std::string(enum_name(kernel.state_dtype))}};
    add_state_load(columns, kernel.load);
    add_implementation(columns, kernel.implementation);
    return columns;
  }
  Columns operator()(const StateConvolution& kernel) const {
    Columns columns = {{"channels", text(kernel.channels)}, {"taps", text(kernel.taps)}};
    add_state_load(columns, kernel.load);
    add_implementation(columns, kernel.implementation);
    return columns;
  }
  Columns operator()(const KeyIndexer& kernel) const {
    Columns columns = {
        {"heads", text(kernel.heads)},       {"head_dim", text(kernel.head_dim)},
        {"selected", text(kernel.selected)}, {"block", text(kernel.block)},
        {"ratio", text(kernel.ratio)},       {"dtype", std::string(enum_name(kernel.dtype))}};
    add_load(columns, kernel.load);
    add_implementation(columns, kernel.implementation);
    return columns;
  }
  Columns operator()(const SparseAttention& kernel) const {
    Columns columns = {{"query_heads", text(kernel.query_heads)},
                       {"kv_heads", text(kernel.kv_heads)},
                       {"key_dim", text(kernel.key_dim)},
                       {"value_dim", text(kernel.value_dim)},
                       {"values_are_keys", kernel.values_are_keys ? "1" : "0"},
                       {"selected", text(kernel.selected)},
                       {"ratio", text(kernel.ratio)},
                       {"window", text(kernel.window)},
                       {"dtype", std::string(enum_name(kernel.dtype))},
                       {"kv_dtype", std::string(enum_name(kernel.kv_dtype))}};
    add_load(columns, kernel.load);
    add_implementation(columns, kernel.implementation);
    return columns;
  }
  Columns operator()(const HyperConnection& kernel) const {
    return {{"tokens", text(kernel.tokens)},
            {"hidden", text(kernel.hidden)},
            {"streams", text(kernel.streams)},
            {"part", std::string(enum_name(kernel.part))}};
  }
  template <DescribedKernel Kind>
  Columns operator()(const Kind& kernel) const {
    Columns columns;
    for_each_field(kernel, [&](std::string_view name, const auto& field) {
      if constexpr (std::is_enum_v<std::remove_cvref_t<decltype(field)>>) {
        columns.emplace_back(name, enum_name(field));
      } else {
        columns.emplace_back(name, text(field));
      }
    });
    return columns;
  }
};

/// "7*3|9": runs of equal entries.
std::string run_list(const std::vector<std::pair<std::int64_t, std::int64_t>>& runs) {
  std::string list;
  for (const auto& [value, count] : runs) {
    if (!list.empty()) list += '|';
    list += count == 1 ? text(value) : fmt::format("{}*{}", value, count);
  }
  return list;
}

void add_sequences(Columns& columns, const AttentionLoad& load) {
  std::vector<std::pair<std::int64_t, std::int64_t>> queries, contexts;
  for (const LoadSums* sums : {&load.prefill, &load.decode}) {
    if (sums->sequences == 0 || !load.sequences.empty()) continue;
    queries.emplace_back(sums->query_tokens / sums->sequences, sums->sequences);
    contexts.emplace_back(sums->context_tokens / sums->sequences, sums->sequences);
  }
  for (const SequenceSlice& slice : load.sequences) {
    queries.emplace_back(slice.query_tokens, 1);
    contexts.emplace_back(slice.context_tokens, 1);
  }
  columns.emplace_back("query_tokens", run_list(queries));
  columns.emplace_back("context_tokens", run_list(contexts));
}

/// Without the columns that a case has first.
template <class AnyKernel>
Columns shape_columns(const AnyKernel& kernel) {
  Columns columns = ColumnsOf()(kernel);
  std::erase_if(columns, [](const auto& column) {
    return column.first == "framework" || column.first == "source" || column.first == "cold";
  });
  return columns;
}

struct CaseOf {
  Columns operator()(const Attention& kernel) const {
    Columns columns = {{"query_heads", text(kernel.query_heads)},
                       {"kv_heads", text(kernel.kv_heads)},
                       {"head_dim", text(kernel.head_dim)},
                       {"dtype", std::string(enum_name(kernel.dtype))},
                       {"kv_dtype", std::string(enum_name(kernel.kv_dtype))},
                       {"causal", kernel.causal ? "1" : "0"},
                       {"window", text(kernel.window)},
                       {"page_tokens", kernel.page_tokens > 0 ? text(kernel.page_tokens) : ""}};
    add_sequences(columns, kernel.load);
    return columns;
  }
  Columns operator()(const Mla& kernel) const {
    Columns columns = {{"query_heads", text(kernel.query_heads)},
                       {"dtype", std::string(enum_name(kernel.dtype))},
                       {"kv_dtype", std::string(enum_name(kernel.kv_dtype))}};
    add_sequences(columns, kernel.load);
    return columns;
  }
  /// Each row has both keys of the routing, one of them empty.
  Columns operator()(const FusedMoe& kernel) const {
    const bool is_histogram = kernel.routing.kind == Routing::Kind::histogram;
    Columns columns = shape_columns(kernel);
    for (auto& [name, value] : columns) {
      if (name == "routing" && is_histogram) value.clear();
    }
    std::vector<std::pair<std::int64_t, std::int64_t>> runs;
    for (const std::int64_t count : kernel.routing.counts) {
      if (runs.empty() || runs.back().first != count) runs.emplace_back(count, 0);
      ++runs.back().second;
    }
    columns.emplace_back("histogram", run_list(runs));
    return columns;
  }
  template <class Other>
  Columns operator()(const Other& kernel) const {
    return shape_columns(kernel);
  }
};

Implementation implementation_of(const Kernel& kernel) {
  return std::visit(
      [](const auto& value) -> Implementation {
        if constexpr (requires { value.implementation; }) return value.implementation;
        return {};
      },
      kernel);
}

}  // namespace

Columns case_columns(const Kernel& kernel) {
  const Implementation implementation = implementation_of(kernel);
  Columns columns = {{"kernel", std::string(kernel_name(kernel))},
                     {"framework", std::string(enum_name(implementation.framework))},
                     {"cold", cold_state(kernel).value_or(true) ? "1" : "0"}};
  const Columns shape = std::visit(CaseOf(), kernel);
  columns.insert(columns.end(), shape.begin(), shape.end());
  return columns;
}

Columns kernel_columns(const Kernel& kernel) { return std::visit(ColumnsOf{}, kernel); }

}  // namespace foretoken
