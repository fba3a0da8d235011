#include "calibration/datasets/attention_modules.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "calibration/datasets/importer.hpp"
#include "workloads/generator.hpp"

namespace foretoken {
namespace {

namespace fs = std::filesystem;

struct ModuleTable {
  std::string_view file;  // before ".vllm.csv.gz"
  std::string_view name;
  /// Of a row in eager mode: the host's launches are a third or less of what takes so long, in ms.
  double vllm_from = 0, sglang_from = 0;
};
constexpr int indexed_ratio = 4;  // of DeepSeek-V4's layers with an index (CSA)

constexpr auto module_tables =
    std::to_array<ModuleTable>({{"mla_context_module_perf", "mla, prefill"},
                                {"mla_generation_module_perf", "mla, decode"},
                                {"wideep_context_mla_perf", "mla wide EP, prefill", 0, 2.5},
                                {"wideep_generation_mla_perf", "mla wide EP, decode"},
                                {"dsa_context_module_perf", "dsa, prefill", 5, 4},
                                {"dsa_generation_module_perf", "dsa, decode"},
                                {"msa_context_module_perf", "msa, prefill", 0, 2.5},
                                {"msa_generation_module_perf", "msa, decode"},
                                {"dsv4_csa_context_module_perf", "dsv4 csa, prefill"},
                                {"dsv4_csa_generation_module_perf", "dsv4 csa, decode"},
                                {"dsv4_hca_context_module_perf", "dsv4 hca, prefill"},
                                {"dsv4_hca_generation_module_perf", "dsv4 hca, decode"}});

/// The built-in model that a row's names mean.
std::string_view model_of(std::string_view model, std::string_view architecture) {
  if (architecture == "DeepseekV3ForCausalLM") return "deepseek-v3";
  if (architecture == "DeepseekV32ForCausalLM") return "deepseek-v3.2";
  if (architecture == "GlmMoeDsaForCausalLM") return "glm-5";
  if (architecture.starts_with("MiniMaxM3")) return "minimax-m3";
  if (architecture != "DeepseekV4ForCausalLM") return "";
  return model.find("Pro") != std::string_view::npos ? "deepseek-v4-pro" : "deepseek-v4-flash";
}

DType module_dtype(std::string_view name) {
  if (name.starts_with("fp8")) return name == "fp8_block" ? DType::fp8_block : DType::fp8;
  return name == "nvfp4" ? DType::nvfp4 : DType::bf16;
}

/// One layer of the kind that a table timed.
std::optional<Transformer> one_layer(Transformer model, std::string_view table, int ratio,
                                     bool shares_index) {
  const bool is_indexed = table.find("mla") == std::string_view::npos;
  for (const LayerKind& kind : model.kinds) {
    const bool is_wanted = ratio > 0 ? kind.attention.compression == ratio
                                     : kind.attention.index.has_value() == is_indexed;
    if (!is_wanted) continue;
    LayerKind own = kind;
    if (own.attention.index) own.attention.index->is_shared = shares_index;
    model.kinds = {own};
    model.kind_pattern = {0};
    model.layers = 1;
    return model;
  }
  if (is_indexed) return std::nullopt;
  model.layers = 1;
  return model;
}

/// From behind the block's first norm to its output product.
KernelSequence attention_part(const KernelSequence& step) {
  const auto has_role = [&](std::string_view role) {
    return std::ranges::find(step, role, &KernelCall::role);
  };
  const auto begin = has_role("input_norm");
  const auto end = std::ranges::find_if(step, [](const KernelCall& call) {
    return call.role == "o_proj" || call.role == "o_b_proj";
  });
  KernelSequence part;
  if (begin == step.end() || end == step.end()) return part;
  for (auto call = begin + 1; call <= end; ++call) {
    if (!std::holds_alternative<Collective>(call->kernel)) part.push_back(*call);
  }
  return part;
}

/// vLLM's harness, as no server runs it: PyTorch's operations one by one. A norm is eight over all
/// values (to fp32, square, mean, epsilon, root, product, back, weight); the index's layer norm
/// stands between two conversions, queries are joined and quantised after their rotation, keys
/// joined and weights of heads multiplied by three scales (deepseek_v2.py, Indexer.forward).
void run_unfused(KernelSequence& kernels) {
  for (KernelCall& call : kernels) {
    if (call.role == "q_a_norm" || call.role == "kv_a_norm") call.calls *= 8;
    if (call.role == "index_q_rotate") call.calls *= 3;
    if (call.role == "index_k_norm") call.calls *= 3 + 4;
  }
}

struct Columns {
  int model, architecture, gemm, kv, heads, batch, isl, step, latency, op, ratio;
  explicit Columns(const CsvRows& rows)
      : model(rows.column("model")),
        architecture(rows.column("architecture")),
        gemm(rows.column("gemm_type")),
        kv(rows.column("kv_cache_dtype")),
        heads(rows.column("num_heads")),
        batch(rows.column("batch_size")),
        isl(rows.column("isl")),
        step(rows.column("step")),
        latency(rows.column("latency")),
        op(rows.column("op_name")),
        ratio(rows.find("compress_ratio")) {}
};

class ModuleFile {
 public:
  ModuleFile(const ModuleTable& table, const fs::path& path, std::string gpu, Framework framework)
      : table_(table),
        gpu_(std::move(gpu)),
        framework_(framework),
        is_decode_(table.name.ends_with("decode")),
        rows_(path),
        columns_(rows_) {}

  void visit(const std::function<void(const MeasuredModule&)>& visitor) {
    while (rows_.next()) {
      const double milliseconds = rows_.number(columns_.latency);
      const double from = framework_ == Framework::vllm ? table_.vllm_from : table_.sglang_from;
      if (milliseconds < from || is_held_up_by_host() || is_short_prompt()) continue;
      const StageProgram* program = program_of_row();
      if (program == nullptr) continue;
      const Sequences all = sequences();
      const BatchShape step = batch(all);
      KernelSequence kernels = attention_part(program->kernels(step));
      // SGLang's harness feeds a latent that is there already.
      const bool has_latent = table_.file.starts_with("dsa") || is_wide();
      if (framework_ == Framework::sglang && has_latent) {
        std::erase_if(kernels, [](const KernelCall& call) { return call.role == "qkv_a_proj"; });
      }
      if (kernels.empty()) continue;
      if (is_unfused()) run_unfused(kernels);
      visitor({name_of_row(all), gpu_, std::string(enum_name(framework_)), std::move(kernels),
               step.tokens, Seconds(milliseconds * 1e-3)});
    }
  }

 private:
  /// A row's equal sequences.
  struct Sequences {
    std::int64_t count, queries, context;
  };

  /// SGLang's sparse decodes of so many sequences run eagerly.
  [[nodiscard]] bool is_held_up_by_host() const {
    if (framework_ != Framework::sglang || !is_decode_ || table_.file.starts_with("dsv4")) {
      return false;
    }
    return rows_.integer(columns_.batch) >= (gpu_ == "b200-sxm" ? 1024 : 512);
  }

  /// By SGLang's kernels for prompts: a token alone is a decode here, and the harness of wide
  /// expert parallelism takes 3 to 6 us of the host for a sequence.
  [[nodiscard]] bool is_short_prompt() const {
    if (framework_ != Framework::sglang || is_decode_) return false;
    const std::int64_t tokens = rows_.integer(columns_.isl);
    return (table_.file == "msa_context_module_perf" && tokens == 1) || (is_wide() && tokens < 64);
  }

  [[nodiscard]] std::string name_of_row(const Sequences& all) const {
    return fmt::format("{}{}", table_.name, meets_flat_scores(all) ? ", flat scores" : "");
  }

  /// Weights of dummies give an index constant scores, which share a bin of the top-k kernel's
  /// histogram: up to 2,048 of them are then sorted by insertion (TensorRT-LLM, vLLM's prompts),
  /// and up to 16,384 take SGLang's kernel for decodes 80 us in place of 3 (dsv4_csa_topk_calib).
  /// Servers have neither.
  [[nodiscard]] bool meets_flat_scores(const Sequences& all) const {
    const bool is_sglang = framework_ == Framework::sglang;
    const Framework other = is_decode_ ? Framework::vllm : Framework::sglang;
    if (ratio_of_row() != indexed_ratio || framework_ == other) return false;
    const std::int64_t first = all.context - all.queries + 1;
    const std::int64_t most = is_sglang ? 16384 : 2048, selected = is_pro() ? 1024 : 512;
    return all.context / indexed_ratio > selected && first / indexed_ratio <= most;
  }

  [[nodiscard]] bool is_pro() const {
    return rows_.text(columns_.model).find("Pro") != std::string_view::npos;
  }

  [[nodiscard]] int ratio_of_row() const {
    return columns_.ratio < 0 ? 0 : static_cast<int>(rows_.integer(columns_.ratio));
  }

  [[nodiscard]] bool is_wide() const { return table_.file.starts_with("wideep"); }

  /// Latent attention on a B200 was timed again with fused norms.
  [[nodiscard]] bool is_unfused() const {
    const bool is_latent = table_.file.starts_with("mla") && gpu_ != "b200-sxm";
    return framework_ == Framework::vllm && (is_latent || table_.file.starts_with("dsa"));
  }

  /// As presets have it by engine and GPU.
  [[nodiscard]] std::int64_t compressor_beside() const {
    if (framework_ == Framework::vllm) return 1024;
    if (framework_ == Framework::sglang) return gpu_ == "b200-sxm" ? 128 : 64;
    return 0;
  }

  [[nodiscard]] Sequences sequences() const {
    const std::int64_t queries = is_wide() && is_decode_ ? 1 : rows_.integer(columns_.isl);
    const bool counts_new = is_decode_ && framework_ == Framework::vllm;
    const std::int64_t before = is_wide()
                                    ? rows_.integer(columns_.isl) - queries
                                    : rows_.integer(columns_.step) - (counts_new ? queries : 0);
    return {rows_.integer(columns_.batch), queries, std::max(before + queries, queries)};
  }

  [[nodiscard]] static BatchShape batch(const Sequences& all) {
    BatchShape batch;
    batch.tokens = all.count * all.queries;
    batch.attention = equal_sequences(all.count, all.queries, all.context);
    return batch;
  }

  /// Of equal model, heads and formats; nullptr where the simulator has no such block.
  const StageProgram* program_of_row() {
    const std::string_view name =
        model_of(rows_.text(columns_.model), rows_.text(columns_.architecture));
    if (name.empty()) return nullptr;
    const int ratio = ratio_of_row();
    const bool shares = rows_.text(columns_.op).ends_with("skip_indexer");
    const std::string key =
        fmt::format("{} {} {} {} {} {}", name, rows_.text(columns_.heads),
                    rows_.text(columns_.gemm), rows_.text(columns_.kv), ratio, shares);
    const auto known = programs_.find(key);
    if (known != programs_.end()) return known->second ? &*known->second : nullptr;
    auto& made = programs_[key];
    const auto model = one_layer(load_model(std::string(name), {}), table_.file, ratio, shares);
    const auto heads = static_cast<int>(rows_.integer(columns_.heads));
    if (!model || heads < 1 || model->attention(0).query_heads % heads != 0) return nullptr;
    ParallelLayout layout;
    layout.tensor = model->attention(0).query_heads / heads;
    ExecutionSettings settings;
    settings.attention_dtype = module_dtype(rows_.text(columns_.gemm));
    settings.kv_dtype = module_dtype(rows_.text(columns_.kv));
    // Rows of Hopper read no byte less than a 16-bit cache and convert nothing, whatever they say.
    if (is_wide() && gpu_ != "b200-sxm") settings.kv_dtype = DType::bf16;
    settings.implementation.framework = framework_;
    settings.compressor_beside = compressor_beside();
    made.emplace(*model, layout, settings, 0);
    return &*made;
  }

  const ModuleTable& table_;
  std::string gpu_;
  Framework framework_;
  bool is_decode_;
  CsvRows rows_;
  Columns columns_;
  std::map<std::string, std::optional<StageProgram>> programs_;
};

}  // namespace

void visit_attention_modules(const fs::path& folder,
                             const std::function<void(const MeasuredModule&)>& visit) {
  for (const std::string_view gpu : {"h100_sxm", "h200_sxm", "b200_sxm", "l40s"}) {
    std::string name(gpu);
    std::ranges::replace(name, '_', '-');
    for (const ModuleTable& table : module_tables) {
      for (const Framework framework : {Framework::vllm, Framework::sglang, Framework::trtllm}) {
        const fs::path path = folder / "kernels" / gpu /
                              fmt::format("{}.{}.csv.gz", table.file, enum_name(framework));
        if (fs::exists(path)) ModuleFile(table, path, name, framework).visit(visit);
      }
    }
  }
}

}  // namespace foretoken
