// AIConfigurator's context_attention_perf (prefill of `batch_size` prompts of `isl` tokens) and
// generation_attention_perf (one token each on top of isl + step - 1 cached ones), and
// encoder_attention_perf (`batch_size` images of `isl` patches, no mask, no cache). All sequences
// of a row are equal, so a row needs no list. A prompt of one token runs as a decode step does.
#include "calibration/datasets/importer.hpp"

namespace foretoken {

AttentionLoad equal_sequences(std::int64_t sequences, std::int64_t queries, std::int64_t context) {
  const SequenceSlice slice{queries, context};
  LoadSums sums;
  sums.sequences = sequences;
  sums.query_tokens = sequences * queries;
  sums.context_tokens = sequences * context;
  sums.context_tokens_max = context;
  sums.query_tokens_max = queries;
  sums.causal_pairs = static_cast<double>(sequences) * causal_pairs(slice);
  AttentionLoad load;
  (queries > 1 ? load.prefill : load.decode) = sums;
  return load;
}

namespace {

/// TensorRT-LLM's own kernels are named after the flow that calls them; the flow calls FlashInfer's
/// as well, "torch_flow_flashinfer".
Implementation attention_implementation(std::string_view source, Framework framework) {
  if (source == "torch_flow") return {framework, KernelSource::trtllm};
  return table_implementation(source, framework);
}

void import_attention(const MeasuredFile& file, SampleSink& sink, bool is_prefill) {
  CsvRows rows(file.path);
  const int source = rows.column("kernel_source"), batch = rows.column("batch_size"),
            isl = rows.column("isl"), heads = rows.column("num_heads"),
            kv_heads = rows.column("num_key_value_heads"), head_dim = rows.column("head_dim"),
            dtype = rows.column("attn_dtype"), kv_dtype = rows.column("kv_cache_dtype"),
            step = rows.column("step"), latency = rows.column("latency"),
            window = rows.find("window_size");  // absent in the A100's older tables
  while (rows.next()) {
    Attention attention;
    attention.query_heads = static_cast<int>(rows.integer(heads));
    attention.kv_heads = static_cast<int>(rows.integer(kv_heads));
    attention.head_dim = static_cast<int>(rows.integer(head_dim));
    attention.dtype = parse_table_dtype(rows, dtype);
    attention.kv_dtype = parse_table_dtype(rows, kv_dtype);
    if (window >= 0) attention.window = rows.integer(window);
    const std::int64_t prompt = rows.integer(isl);
    // TensorRT-LLM has its prompts' kernel for those of one token, which would count as decodes.
    if (is_prefill && prompt == 1 && file.framework == Framework::trtllm) continue;
    attention.load = is_prefill
                         ? equal_sequences(rows.integer(batch), prompt, prompt)
                         : equal_sequences(rows.integer(batch), 1, prompt + rows.integer(step));
    attention.implementation = attention_implementation(rows.text(source), file.framework);
    std::string layout = attention_layout(attention);
    sink.add({std::move(attention), file.gpu, Seconds(rows.number(latency) * 1e-3),
              std::string(rows.text(source)), "aiconfigurator", std::move(layout)});
  }
}

void import_mla(const MeasuredFile& file, SampleSink& sink, bool is_prefill) {
  CsvRows rows(file.path);
  const int source = rows.column("kernel_source"), batch = rows.column("batch_size"),
            isl = rows.column("isl"), heads = rows.column("num_heads"),
            dtype = rows.column("mla_dtype"), kv_dtype = rows.column("kv_cache_dtype"),
            step = rows.column("step"), latency = rows.column("latency");
  while (rows.next()) {
    Mla mla;
    mla.query_heads = static_cast<int>(rows.integer(heads));  // of one rank: tp_size is spent
    mla.dtype = parse_table_dtype(rows, dtype);
    mla.kv_dtype = parse_table_dtype(rows, kv_dtype);
    const std::int64_t prompt = rows.integer(isl);
    mla.load = is_prefill ? equal_sequences(rows.integer(batch), prompt, prompt)
                          : equal_sequences(rows.integer(batch), 1, prompt + rows.integer(step));
    mla.implementation = table_implementation(rows.text(source), file.framework);
    // SGLang's "flash_attention": of FlashAttention's kernels only the third reads latents.
    KernelSource& named = mla.implementation.source;
    if (named == KernelSource::flash_attention_2) named = KernelSource::flash_attention_3;
    std::string layout = mla_layout(mla);
    sink.add({std::move(mla), file.gpu, Seconds(rows.number(latency) * 1e-3),
              std::string(rows.text(source)), "aiconfigurator", std::move(layout)});
  }
}

}  // namespace

void import_encoder_attention_perf(const MeasuredFile& file, SampleSink& sink) {
  CsvRows rows(file.path);
  const int source = rows.column("kernel_source"), batch = rows.column("batch_size"),
            isl = rows.column("isl"), heads = rows.column("num_heads"),
            head_dim = rows.column("head_dim"), dtype = rows.column("attn_dtype"),
            latency = rows.column("latency");
  while (rows.next()) {
    Attention attention;
    attention.query_heads = attention.kv_heads = static_cast<int>(rows.integer(heads));
    attention.head_dim = static_cast<int>(rows.integer(head_dim));
    attention.dtype = attention.kv_dtype = parse_table_dtype(rows, dtype);
    attention.causal = false;
    attention.page_tokens = 0;
    const std::int64_t patches = rows.integer(isl);
    attention.load = equal_sequences(rows.integer(batch), patches, patches);
    attention.implementation = attention_implementation(rows.text(source), file.framework);
    std::string layout = attention_layout(attention);
    sink.add({std::move(attention), file.gpu, Seconds(rows.number(latency) * 1e-3),
              std::string(rows.text(source)), "aiconfigurator", std::move(layout)});
  }
}

void import_context_attention_perf(const MeasuredFile& file, SampleSink& sink) {
  import_attention(file, sink, true);
}

void import_generation_attention_perf(const MeasuredFile& file, SampleSink& sink) {
  import_attention(file, sink, false);
}

void import_mla_perf(const MeasuredFile& file, SampleSink& sink) {
  import_mla(file, sink, file.path.filename().string().starts_with("context"));
}

}  // namespace foretoken
