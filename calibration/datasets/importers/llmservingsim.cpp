// LLMServingSim's tables of Llama-3.1-8B in vLLM 0.19 on one RTX 4090, no sharding: time by layer
// and number of tokens, and of attention over batches of one prefill chunk and equal decodes. Each
// layer has its own weights and the engine runs them in turn, so that weights and caches are cold,
// and what streams activations finds them as the layer before has left them.
#include "calibration/datasets/importer.hpp"

namespace foretoken {
namespace {

// Llama-3.1-8B.
constexpr std::int64_t hidden = 4096, intermediate = 14336, vocabulary = 128256;
constexpr int query_heads = 32, kv_heads = 8, head_dim = 128;
constexpr std::string_view origin_name = "llmservingsim";

Implementation cold_vllm(KernelSource source) { return {Framework::vllm, source, true}; }

Gemm linear(std::int64_t tokens, std::int64_t n, std::int64_t k) {
  return {tokens, n, k, DType::bf16, cold_vllm(KernelSource::cublas)};
}

/// nullopt: a layer that is no single kernel of ours.
std::optional<Kernel> layer_kernel(std::string_view layer, std::int64_t tokens) {
  constexpr std::int64_t qkv = (query_heads + 2 * kv_heads) * head_dim;
  if (layer == "qkv_proj") return linear(tokens, qkv, hidden);
  if (layer == "o_proj") return linear(tokens, hidden, hidden);
  if (layer == "gate_up_proj") return linear(tokens, 2 * intermediate, hidden);
  if (layer == "down_proj") return linear(tokens, hidden, intermediate);
  if (layer == "lm_head") return linear(tokens, vocabulary, hidden);
  if (layer == "act_fn") return SiluAndMul{tokens, intermediate, DType::bf16, false};
  if (layer == "layernorm" || layer == "final_layernorm") {
    return FusedAddRmsNorm{tokens, hidden, DType::bf16, false};
  }
  if (layer == "rotary_emb") {
    return Rope{tokens, query_heads + kv_heads, head_dim, DType::bf16, false};
  }
  if (layer == "sampler") return Sampling{tokens, vocabulary, SamplingMethod::greedy, false};
  if (layer == "embedding") return Embedding{tokens, hidden, DType::bf16};
  return std::nullopt;
}

}  // namespace

void import_llmservingsim_dense(const MeasuredFile& file, SampleSink& sink) {
  CsvRows rows(file.path);
  const int layer = rows.column("layer"), time = rows.column("time_us");
  const int tokens = rows.find("tokens") >= 0 ? rows.column("tokens") : rows.column("sequences");
  while (rows.next()) {
    const auto kernel = layer_kernel(rows.text(layer), rows.integer(tokens));
    if (!kernel) continue;
    sink.add({*kernel, file.gpu, Seconds(rows.number(time) * 1e-6), std::string(rows.text(layer)),
              std::string(origin_name), kernel_layout(*kernel)});
  }
}

void import_llmservingsim_attention(const MeasuredFile& file, SampleSink& sink) {
  CsvRows rows(file.path);
  const int chunk = rows.column("prefill_chunk"), cached = rows.column("kv_prefill"),
            decodes = rows.column("n_decode"), context = rows.column("kv_decode"),
            time = rows.column("time_us");
  while (rows.next()) {
    std::vector<SequenceSlice> slices;
    const std::int64_t queries = rows.integer(chunk);
    if (queries > 0) slices.push_back({queries, rows.integer(cached) + queries});
    slices.insert(slices.end(), static_cast<std::size_t>(rows.integer(decodes)),
                  {1, rows.integer(context) + 1});
    Attention attention{query_heads, kv_heads, head_dim};
    attention.load = AttentionLoad::exact(std::move(slices));
    attention.implementation = cold_vllm(KernelSource::flash_attention_2);
    std::string layout = attention_layout(attention);
    sink.add({std::move(attention), file.gpu, Seconds(rows.number(time) * 1e-6), "vllm attention",
              std::string(origin_name), std::move(layout)});
  }
}

}  // namespace foretoken
