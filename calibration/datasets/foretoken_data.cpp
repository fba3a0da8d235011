// Which file of a FORETOKEN_DATA folder is read by which importer.
#include <algorithm>
#include <fstream>
#include <iterator>

#include "calibration/datasets/exclusions.hpp"
#include "calibration/datasets/importer.hpp"
#include "sim/base/fingerprint.hpp"

namespace foretoken {
namespace {

namespace fs = std::filesystem;

struct TableFormat {
  std::string_view name;  // before the first '.' of the file's name
  void (*import)(const MeasuredFile& file, SampleSink& sink);
  /// Of the other tables no family tells its kernels from others yet.
  bool takes_trtllm = false;
};

constexpr auto aiconfigurator_tables = std::to_array<TableFormat>({
    {"gemm_perf", import_gemm_perf, true},
    {"mla_bmm_perf", import_heads_product_perf, true},
    {"context_attention_perf", import_context_attention_perf, true},
    {"generation_attention_perf", import_generation_attention_perf, true},
    {"encoder_attention_perf", import_encoder_attention_perf, true},
    {"context_mla_perf", import_mla_perf, true},
    {"generation_mla_perf", import_mla_perf, true},
    {"moe_perf", import_moe_perf, true},
    {"gdn_perf", import_state_perf},
    {"kda_perf", import_state_perf},
    {"mamba2_perf", import_state_perf, true},
    {"glm5_mqa_logits_module_perf", import_indexer_perf},
    {"dsv4_paged_mqa_logits_module_perf", import_indexer_perf},
    {"glm5_dsa_attn_module_perf", import_sparse_attention_perf},
    {"dsv4_hca_attn_module_perf", import_sparse_attention_perf},
    {"mhc_module_perf", import_hyper_connection_perf},
});

/// Files of a folder in the order of their names, so that datasets do not depend on the file
/// system.
std::vector<fs::path> sorted_entries(const fs::path& folder) {
  std::error_code unreadable;
  std::vector<fs::path> entries;
  for (const auto& entry : fs::directory_iterator(folder, unreadable))
    entries.push_back(entry.path());
  std::ranges::sort(entries);
  return entries;
}

/// "h100_sxm" → "h100-sxm".
std::string gpu_of_folder(const fs::path& folder) {
  std::string name = folder.filename().string();
  std::ranges::replace(name, '_', '-');
  return name;
}

/// "moe_perf.vllm.csv.gz" → {"moe_perf", "vllm"}.
std::pair<std::string, std::string> table_and_framework(const fs::path& path) {
  const std::string name = path.filename().string();
  const std::size_t dot = name.find('.');
  if (dot == std::string::npos) return {name, ""};
  return {name.substr(0, dot), name.substr(dot + 1, name.find('.', dot + 1) - dot - 1)};
}

/// Reads `file`, which lies below `root`, with `import`.
template <class Import>
void import_file(const fs::path& root, const MeasuredFile& file, Import import, SampleSink& sink) {
  sink.begin_file(file.path, fs::relative(file.path, root).generic_string(), false);
  import(file, sink);
}

void import_gpu_folder(const fs::path& root, const fs::path& folder, SampleSink& sink) {
  for (const fs::path& path : sorted_entries(folder)) {
    const auto [table, framework_name] = table_and_framework(path);
    const auto format = std::ranges::find(aiconfigurator_tables, table, &TableFormat::name);
    const auto framework = parse_enum<Framework>(framework_name);
    if (format == aiconfigurator_tables.end() || !framework) continue;
    if (*framework == Framework::trtllm && !format->takes_trtllm) continue;
    import_file(root, {path, gpu_of_folder(folder), *framework}, format->import, sink);
  }
}

}  // namespace

void append(Dataset& dataset, Dataset&& other) {
  const int files = static_cast<int>(dataset.files.size());
  for (Sample& sample : other.samples) sample.file += files;
  std::ranges::move(other.samples, std::back_inserter(dataset.samples));
  std::ranges::move(other.files, std::back_inserter(dataset.files));
  dataset.rows_left_out += other.rows_left_out;
}

void SampleSink::begin_file(const fs::path& path, std::string name, bool is_own) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  dataset_.files.push_back(
      {std::move(name), fmt::format("{:016x}", Fingerprint().add(std::string_view(bytes)).value()),
       is_own});
}

const GpuSpec& SampleSink::gpu(const std::string& name) {
  if (gpu_name_ != name) {
    gpu_ = load_gpu(name, {"dataset"});
    gpu_name_ = name;
  }
  return gpu_;
}

void SampleSink::add(Sample&& sample) {
  if (keep_ && !keep_(sample)) return;
  if (exclusion_reason(sample, gpu(sample.gpu))) {
    ++dataset_.rows_left_out;
    return;
  }
  sample.file = static_cast<int>(dataset_.files.size()) - 1;
  dataset_.samples.push_back(std::move(sample));
}

Dataset load_foretoken_data(const fs::path& folder, const KeepSample& keep) {
  if (!fs::is_directory(folder / "kernels")) {
    throw ConfigError({folder.string()},
                      "has no folder 'kernels'; give the folder that FORETOKEN_DATA's README "
                      "describes");
  }
  Dataset dataset;
  SampleSink sink(dataset, keep);
  const fs::path rtx4090 = folder / "kernels" / "rtx4090_vllm019";
  for (const fs::path& entry : sorted_entries(folder / "kernels")) {
    if (entry != rtx4090) import_gpu_folder(folder, entry, sink);
  }
  if (fs::exists(rtx4090)) {
    for (const char* name : {"dense.csv", "per_sequence.csv"}) {
      import_file(folder, {rtx4090 / "tp1" / name, "rtx-4090"}, import_llmservingsim_dense, sink);
    }
    import_file(folder, {rtx4090 / "tp1" / "attention.csv", "rtx-4090"},
                import_llmservingsim_attention, sink);
  }
  for (const fs::path& path : sorted_entries(folder / "h200_flashinfer")) {
    import_file(folder, {path, "h200-sxm", Framework::pytorch}, import_flashinfer, sink);
  }
  return dataset;
}

}  // namespace foretoken
