// Cases of recurrences, sparse attention, hyper-connections and the verification of drafts.
#include "kernels/kernel_case_hybrid.hpp"

#include "kernels/kernel_case_fields.hpp"

namespace foretoken {
namespace {

StateLoad read_state_load(TableReader& table) { return StateLoad::of(read_load(table)); }

}  // namespace

Kernel read_state_scan(TableReader& table) {
  StateScan scan;
  table.require("kind", scan.kind);
  table.expect("kind", scan.kind != StateKind::convolution,
               "has no recurrence; use the kernel state_convolution");
  require_size(table, "key_heads", scan.key_heads);
  require_size(table, "value_heads", scan.value_heads);
  require_size(table, "key_dim", scan.key_dim);
  require_size(table, "value_dim", scan.value_dim);
  if (scan.key_heads > 0 && scan.value_heads > 0) {
    table.expect("key_heads", scan.value_heads % scan.key_heads == 0,
                 fmt::format("must divide value_heads ({})", scan.value_heads));
  }
  table.read("dtype", scan.dtype);
  table.read("state_dtype", scan.state_dtype);
  scan.load = read_state_load(table);
  return scan;
}

Kernel read_state_convolution(TableReader& table) {
  StateConvolution convolution;
  require_size(table, "channels", convolution.channels);
  read_size(table, "taps", convolution.taps);
  table.read("dtype", convolution.dtype);
  convolution.load = read_state_load(table);
  return convolution;
}

Kernel read_key_indexer(TableReader& table) {
  KeyIndexer indexer;
  require_size(table, "heads", indexer.heads);
  require_size(table, "head_dim", indexer.head_dim);
  require_size(table, "selected", indexer.selected);
  read_size(table, "block", indexer.block);
  read_size(table, "ratio", indexer.ratio);
  table.read("dtype", indexer.dtype);
  indexer.load = read_load(table);
  return indexer;
}

Kernel read_sparse_attention(TableReader& table) {
  SparseAttention attention;
  require_size(table, "query_heads", attention.query_heads);
  require_size(table, "kv_heads", attention.kv_heads);
  require_size(table, "key_dim", attention.key_dim);
  require_size(table, "value_dim", attention.value_dim);
  table.read("values_are_keys", attention.values_are_keys);
  if (attention.query_heads > 0 && attention.kv_heads > 0) {
    table.expect("kv_heads", attention.query_heads % attention.kv_heads == 0,
                 fmt::format("must divide query_heads ({})", attention.query_heads));
  }
  if (attention.values_are_keys && attention.key_dim > 0) {
    table.expect(
        "value_dim", attention.value_dim <= attention.key_dim,
        fmt::format("must be at most key_dim ({}), since values are keys", attention.key_dim));
  }
  const auto read_count = [&](std::string_view key, std::int64_t& count) {
    table.read(key, count);
    table.expect(key, count >= 0 && count <= case_size_max, "must be from 0 to 1000000000");
  };
  read_count("selected", attention.selected);
  read_size(table, "ratio", attention.ratio);
  read_count("window", attention.window);
  table.read("dtype", attention.dtype);
  attention.kv_dtype = activation_dtype(attention.dtype);
  table.read("kv_dtype", attention.kv_dtype);
  attention.load = read_load(table);
  return attention;
}

Kernel read_hyper_connection(TableReader& table) {
  HyperConnection connection;
  require_size(table, "tokens", connection.tokens);
  require_size(table, "hidden", connection.hidden);
  read_size(table, "streams", connection.streams);
  table.read("part", connection.part);
  table.read("dtype", connection.dtype);
  return connection;
}

Kernel read_draft_verification(TableReader& table) {
  DraftVerification drafts;
  require_size(table, "rows", drafts.rows);
  require_size(table, "sequences", drafts.sequences);
  require_size(table, "vocabulary", drafts.vocabulary);
  table.read("method", drafts.method);
  table.read("framework", drafts.framework);
  if (drafts.rows > 0) {
    table.expect("sequences", drafts.sequences <= drafts.rows,
                 fmt::format("must be at most rows ({})", drafts.rows));
  }
  return drafts;
}

}  // namespace foretoken
