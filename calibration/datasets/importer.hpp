// The contract of the importers: one file a format (importers/), which turns its rows into samples.
// foretoken_data.cpp lists them and says which files are whose.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "calibration/datasets/dataset.hpp"
#include "workloads/measurements/csv_rows.hpp"

namespace foretoken {

struct MeasuredFile {
  std::filesystem::path path;
  std::string gpu;  // "h100-sxm"
  Framework framework = Framework::vllm;
};

/// Where importers put samples: unusable ones are counted and dropped.
class SampleSink {
 public:
  SampleSink(Dataset& dataset, const KeepSample& keep) : dataset_(dataset), keep_(keep) {}
  /// What is added from now on comes from the file at `path`, called `name`.
  void begin_file(const std::filesystem::path& path, std::string name, bool is_own);
  void add(Sample&& sample);

 private:
  const GpuSpec& gpu(const std::string& name);

  Dataset& dataset_;
  const KeepSample& keep_;
  std::string gpu_name_;  // the last one asked for: a file has one GPU
  GpuSpec gpu_;
};

// AIConfigurator's tables, kernels/<gpu>/<table>.<framework>.csv.gz; latency in milliseconds.
void import_gemm_perf(const MeasuredFile& file, SampleSink& sink);
void import_context_attention_perf(const MeasuredFile& file, SampleSink& sink);
void import_generation_attention_perf(const MeasuredFile& file, SampleSink& sink);
void import_heads_product_perf(const MeasuredFile& file, SampleSink& sink);  // latent attention's
void import_encoder_attention_perf(const MeasuredFile& file, SampleSink& sink);
void import_moe_perf(const MeasuredFile& file, SampleSink& sink);
void import_mla_perf(const MeasuredFile& file, SampleSink& sink);  // context and generation
// Layers beside plain attention: recurrences and their convolutions (GDN, KDA, Mamba-2), an index's
// scores with the choice of the best beside them, sparse attention, hyper-connections.
void import_state_perf(const MeasuredFile& file, SampleSink& sink);
void import_indexer_perf(const MeasuredFile& file, SampleSink& sink);
void import_sparse_attention_perf(const MeasuredFile& file, SampleSink& sink);
void import_hyper_connection_perf(const MeasuredFile& file, SampleSink& sink);
// LLMServingSim's tables of vLLM on one GPU, one model; microseconds.
void import_llmservingsim_dense(const MeasuredFile& file, SampleSink& sink);
void import_llmservingsim_attention(const MeasuredFile& file, SampleSink& sink);
// h200_flashinfer: bare kernels, L2 cold; microseconds.
void import_flashinfer(const MeasuredFile& file, SampleSink& sink);
// Our own format.
void import_own(const MeasuredFile& file, SampleSink& sink);

/// "bfloat16" → bf16; a ConfigError for a format nobody here knows.
DType parse_table_dtype(const CsvRows& rows, int column);
/// Sequences of equal length: decodes with one query each, else prompts.
AttentionLoad equal_sequences(std::int64_t sequences, std::int64_t queries, std::int64_t context);
/// The implementation that a table's kernel_source names, called by `framework`.
Implementation table_implementation(std::string_view source_name, Framework framework);

// Layouts, the same for a kernel from whatever file.
std::string gemm_layout(const Gemm& gemm);
std::string attention_layout(const Attention& attention);
std::string mla_layout(const Mla& mla);
std::string moe_layout(const FusedMoe& moe);
/// Of any kernel; "" for one that has only sizes (its width is the layout of a norm).
std::string kernel_layout(const Kernel& kernel);

}  // namespace foretoken
