// AIConfigurator's gemm_perf: one row a matrix product as the framework's linear layer calls it,
// quantisation of the activations included; one buffer repeated, so warm. TensorRT-LLM's products
// of per-tensor fp8 were measured with scales found while it runs, which its checkpoints bring
// along: computescale_perf says by how much that is longer, for the same activations. And
// mla_bmm_perf: the products of DeepSeek's heads before and behind latent attention, quantisation
// included.
#include <map>
#include <optional>

#include "calibration/datasets/importer.hpp"

namespace foretoken {
namespace {

/// What finding a scale takes beside a quantisation whose scale is known, by rows and columns.
class ScaleTimes {
 public:
  /// Of the table beside `gemm_perf`; a table that is not there has no times.
  explicit ScaleTimes(const std::filesystem::path& gemm_perf) {
    std::string name = gemm_perf.filename().string();
    const std::string_view table = "gemm_perf";
    if (name.starts_with(table)) name.replace(0, table.size(), "computescale_perf");
    const std::filesystem::path path = gemm_perf.parent_path() / name;
    if (!std::filesystem::exists(path)) return;
    CsvRows rows(path);
    const int m = rows.column("m"), k = rows.column("k"), latency = rows.column("latency");
    while (rows.next()) {
      times_.try_emplace({rows.integer(m), rows.integer(k)}, rows.number(latency));
    }
  }

  /// `milliseconds` of a product without it; nothing where the difference is not known (0: the two
  /// measurements disagree) or leaves less than a quarter.
  [[nodiscard]] std::optional<double> taken_off(double milliseconds, const Gemm& gemm) const {
    const auto found = times_.find({gemm.m, gemm.k});
    if (found == times_.end() || found->second <= 0) return std::nullopt;
    const double rest = milliseconds - found->second;
    return rest < milliseconds / 4 ? std::nullopt : std::optional(rest);
  }

 private:
  std::map<std::pair<std::int64_t, std::int64_t>, double> times_;
};

}  // namespace

void import_gemm_perf(const MeasuredFile& file, SampleSink& sink) {
  CsvRows rows(file.path);
  const int source = rows.column("kernel_source"), dtype = rows.column("gemm_dtype"),
            m = rows.column("m"), n = rows.column("n"), k = rows.column("k"),
            latency = rows.column("latency");
  const ScaleTimes scale_times(file.path);
  while (rows.next()) {
    Gemm gemm;
    gemm.m = rows.integer(m);
    gemm.n = rows.integer(n);
    gemm.k = rows.integer(k);
    gemm.dtype = parse_table_dtype(rows, dtype);
    gemm.implementation = table_implementation(rows.text(source), file.framework);
    std::optional<double> milliseconds = rows.number(latency);
    if (file.framework == Framework::trtllm && gemm.dtype == DType::fp8) {
      milliseconds = scale_times.taken_off(*milliseconds, gemm);
      if (!milliseconds) continue;
    }
    sink.add({gemm, file.gpu, Seconds(*milliseconds * 1e-3), std::string(rows.text(source)),
              "aiconfigurator", gemm_layout(gemm)});
  }
}

void import_heads_product_perf(const MeasuredFile& file, SampleSink& sink) {
  constexpr int latent_dim = 512, head_dim = 128;
  CsvRows rows(file.path);
  const int op = rows.column("op_name"), source = rows.column("kernel_source"),
            dtype = rows.column("bmm_dtype"), tokens = rows.column("num_tokens"),
            heads = rows.column("num_heads"), latency = rows.column("latency");
  while (rows.next()) {
    const bool is_before = rows.text(op) == "mla_gen_pre";
    BatchedGemm product{.batch = static_cast<int>(rows.integer(heads)),
                        .m = rows.integer(tokens),
                        .n = is_before ? latent_dim : head_dim,
                        .k = is_before ? head_dim : latent_dim,
                        .dtype = parse_table_dtype(rows, dtype)};
    // TensorRT-LLM's have scales a block, on Blackwell under the label fp8 no scales at all.
    if (file.framework == Framework::trtllm && product.dtype == DType::fp8) {
      product.dtype = DType::fp8_block;
    }
    product.implementation.framework = file.framework;
    std::string layout = kernel_layout(product);
    sink.add({product, file.gpu, Seconds(rows.number(latency) * 1e-3),
              std::string(rows.text(source)), "aiconfigurator", std::move(layout)});
  }
}

}  // namespace foretoken
