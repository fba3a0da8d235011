// AIConfigurator's tables of layers beside plain attention: gdn_perf, kda_perf and mamba2_perf (one
// kernel a row), the index's scores (glm5_mqa_logits_module, dsv4_paged_mqa_logits_module) to which
// the time of choosing the best is added from the table beside, sparse attention alone
// (glm5_dsa_attn_module, dsv4_hca_attn_module), mhc_module. Left out: kernels that hold convolution
// and recurrence in one, and TensorRT-LLM's but for Mamba-2, which fall back to eager unsaid.
#include <map>
#include <tuple>

#include "calibration/datasets/importer.hpp"

namespace foretoken {
namespace {

constexpr double milli = 1e-3;

Sample table_sample(Kernel kernel, const MeasuredFile& file, double milliseconds,
                    std::string_view source) {
  std::string layout = kernel_layout(kernel);
  return {std::move(kernel),   file.gpu,         Seconds(milliseconds * milli),
          std::string(source), "aiconfigurator", std::move(layout)};
}

StateLoad state_load(std::string_view phase, std::int64_t sequences, std::int64_t tokens) {
  if (phase == "context") return {sequences, sequences * tokens, 0, 0};
  return {0, 0, sequences, sequences * tokens};  // "verify": a token and its drafts
}

/// The heads of a row: Mamba-2's table has names of its own.
StateScan read_heads(const CsvRows& rows, StateKind kind) {
  StateScan scan;
  scan.kind = kind;
  const auto number = [&](std::string_view name) {
    return static_cast<int>(rows.integer(rows.column(name)));
  };
  const bool is_mamba = kind == StateKind::mamba2;
  scan.key_heads = number(is_mamba ? "n_groups" : "num_k_heads");
  scan.value_heads = number(is_mamba ? "nheads" : "num_v_heads");
  scan.key_dim = number(is_mamba ? "d_state" : "head_k_dim");
  scan.value_dim = number(is_mamba ? "head_dim" : "head_v_dim");
  return scan;
}

bool holds_both(std::string_view source) {
  return source.starts_with("fused_kda_decode") || source == "kda_fused_decode";
}

std::int64_t convolved_channels(const StateScan& scan) {
  return 2 * std::int64_t{scan.key_heads} * scan.key_dim +
         std::int64_t{scan.value_heads} * scan.value_dim;
}

StateKind kind_in(const std::string& table) {
  if (table.starts_with("gdn")) return StateKind::delta_net;
  return table.starts_with("kda") ? StateKind::kimi_delta : StateKind::mamba2;
}

using IndexKey = std::tuple<std::string, std::int64_t, std::int64_t, std::int64_t>;

struct SequenceColumns {
  int model, batch, isl, step, latency;
  explicit SequenceColumns(const CsvRows& rows)
      : model(rows.column("model")),
        batch(rows.column("batch_size")),
        isl(rows.column("isl")),
        step(rows.column("step")),
        latency(rows.column("latency")) {}

  [[nodiscard]] IndexKey key(const CsvRows& rows) const {
    return {std::string(rows.text(model)), rows.integer(batch), rows.integer(isl),
            rows.integer(step)};
  }
  /// New tokens behind `step` cached ones.
  [[nodiscard]] AttentionLoad load(const CsvRows& rows) const {
    const std::int64_t queries = rows.integer(isl);
    return equal_sequences(rows.integer(batch), queries, queries + rows.integer(step));
  }
};

/// ms of choosing the best among realistic scores, by shape; the table with the same rows beside
/// `scores`. DeepSeek-V4's decodes have two versions of the kernel, of which the engine takes the
/// faster; where the harness could not run the second (steps of 10,000 and 1,000,000), nobody
/// knows.
std::map<IndexKey, double> choice_times(const std::filesystem::path& scores, bool is_glm) {
  const auto path = scores.parent_path() / (is_glm ? "glm5_topk_module_perf.sglang.csv.gz"
                                                   : "dsv4_csa_topk_calib_perf.sglang.csv.gz");
  std::map<IndexKey, double> times;
  if (!std::filesystem::exists(path)) return times;
  CsvRows rows(path);
  const SequenceColumns columns(rows);
  const int mode = rows.column("score_mode");
  std::map<IndexKey, int> versions;
  while (rows.next()) {
    if (!rows.text(mode).ends_with("top_last")) continue;
    const IndexKey key = columns.key(rows);
    ++versions[key];
    const auto [known, is_new] = times.emplace(key, rows.number(columns.latency));
    if (!is_new) known->second = std::min(known->second, rows.number(columns.latency));
  }
  std::erase_if(times, [&](const auto& row) {
    const bool is_decode = std::get<2>(row.first) == 1;
    return is_decode && !is_glm && versions.at(row.first) < 2;
  });
  return times;
}

/// ms of scoring decodes by the paged kernel, by sequences and keys of each: DeepSeek-V4's table
/// beside GLM-5's `scores`, where four tokens share a key.
std::map<std::pair<std::int64_t, std::int64_t>, double> paged_scores(
    const std::filesystem::path& scores) {
  const auto path = scores.parent_path() / "dsv4_paged_mqa_logits_module_perf.sglang.csv.gz";
  std::map<std::pair<std::int64_t, std::int64_t>, double> times;
  if (!std::filesystem::exists(path)) return times;
  CsvRows rows(path);
  const SequenceColumns columns(rows);
  const int ratio = rows.column("compress_ratio");
  while (rows.next()) {
    const std::int64_t step = rows.integer(columns.step), tokens = rows.integer(ratio);
    if (rows.integer(columns.isl) != 1 || step % tokens != 0) continue;
    times.emplace(std::pair(rows.integer(columns.batch), step / tokens),
                  rows.number(columns.latency));
  }
  return times;
}

}  // namespace

void import_state_perf(const MeasuredFile& file, SampleSink& sink) {
  const StateKind kind = kind_in(file.path.filename().string());
  if (file.framework == Framework::trtllm && kind != StateKind::mamba2) return;
  CsvRows rows(file.path);
  const int source = rows.column("kernel_source"), phase = rows.column("phase"),
            batch = rows.column("batch_size"), tokens = rows.column("seq_len"),
            taps = rows.column("d_conv"), latency = rows.column("latency");
  while (rows.next()) {
    const std::string_view name = rows.text(source);
    if (holds_both(name)) continue;
    StateScan scan = read_heads(rows, kind);
    scan.load = state_load(rows.text(phase), rows.integer(batch), rows.integer(tokens));
    scan.implementation.framework = file.framework;
    if (!name.starts_with("causal_conv1d")) {
      sink.add(table_sample(scan, file, rows.number(latency), name));
      continue;
    }
    // SGLang 0.5.10, on the A100, convolves fewer channels; which, its table does not say.
    if (file.gpu == "a100-sxm") continue;
    StateConvolution convolution{.channels = convolved_channels(scan),
                                 .taps = static_cast<int>(rows.integer(taps)),
                                 .load = scan.load,
                                 .implementation = scan.implementation};
    sink.add(table_sample(convolution, file, rows.number(latency), name));
  }
}

void import_indexer_perf(const MeasuredFile& file, SampleSink& sink) {
  if (file.framework != Framework::sglang) return;  // no times of its choice beside
  const bool is_glm = file.path.filename().string().starts_with("glm5");
  const auto choices = choice_times(file.path, is_glm);
  const auto paged = is_glm ? paged_scores(file.path) : decltype(paged_scores(file.path)){};
  CsvRows rows(file.path);
  const SequenceColumns columns(rows);
  const int source = rows.column("kernel_source"), ratio = rows.column("compress_ratio"),
            heads = rows.column("num_heads");
  while (rows.next()) {
    // GLM-5's 32 heads and V4's 64, of 128; the column has the attention's.
    KeyIndexer index{.heads = is_glm ? 32 : 64, .head_dim = 128, .selected = is_glm ? 2048 : 512};
    index.ratio = static_cast<int>(rows.integer(ratio));
    if (!is_glm && rows.integer(heads) > 64) index.selected = 1024;  // Pro
    index.load = columns.load(rows);
    index.implementation.framework = file.framework;
    const std::int64_t keys =
        (rows.integer(columns.isl) + rows.integer(columns.step)) / index.ratio;
    double milliseconds = rows.number(columns.latency);
    if (is_glm && rows.integer(columns.isl) == 1) {
      // Engines score decodes by the paged kernel, GLM-5's table is of the one for prompts.
      const auto scored = paged.find({rows.integer(columns.batch), rows.integer(columns.step)});
      if (scored == paged.end() || keys <= index.selected) continue;
      milliseconds = scored->second;
      index.heads = 64;
    }
    if (keys > index.selected) {
      const auto choice = choices.find(columns.key(rows));
      if (choice == choices.end()) continue;
      milliseconds += choice->second;
    }
    sink.add(table_sample(index, file, milliseconds, rows.text(source)));
  }
}

void import_sparse_attention_perf(const MeasuredFile& file, SampleSink& sink) {
  const bool is_glm = file.path.filename().string().starts_with("glm5");
  CsvRows rows(file.path);
  const SequenceColumns columns(rows);
  const int source = rows.column("kernel_source"), ratio = rows.column("compress_ratio"),
            heads = rows.column("num_heads");
  while (rows.next()) {
    // SGLang's harness timed decodes by the kernel for prompts, which SGLang does not launch.
    if (is_glm && rows.integer(columns.isl) == 1) continue;
    SparseAttention sparse{.query_heads = static_cast<int>(rows.integer(heads)),
                           .kv_heads = 1,
                           .key_dim = is_glm ? 576 : 512,
                           .value_dim = 512,
                           .values_are_keys = true,
                           .selected = is_glm ? 2048 : 0,
                           .ratio = static_cast<int>(rows.integer(ratio)),
                           .window = is_glm ? 0 : 128,
                           .dtype = DType::bf16,
                           // flash_mla_sparse_fwd reads 16 bit, whatever the column says.
                           .kv_dtype = is_glm ? DType::bf16 : DType::fp8};
    sparse.load = columns.load(rows);
    sparse.implementation.framework = file.framework;
    sink.add(table_sample(sparse, file, rows.number(columns.latency), rows.text(source)));
  }
}

void import_hyper_connection_perf(const MeasuredFile& file, SampleSink& sink) {
  if (file.framework == Framework::trtllm) return;
  CsvRows rows(file.path);
  const int part = rows.column("op_name"), source = rows.column("kernel_source"),
            tokens = rows.column("num_tokens"), sites = rows.column("num_sites"),
            streams = rows.column("hc_mult"), hidden = rows.column("hidden_size"),
            latency = rows.column("latency");
  while (rows.next()) {
    HyperConnection connection;
    connection.tokens = rows.integer(tokens);
    connection.hidden = rows.integer(hidden);
    connection.streams = static_cast<int>(rows.integer(streams));
    connection.part = rows.text(part) == "pre" ? HyperPart::pre : HyperPart::post;
    connection.is_cold = false;
    sink.add(table_sample(connection, file,
                          rows.number(latency) / static_cast<double>(rows.integer(sites)),
                          rows.text(source)));
  }
}

}  // namespace foretoken
