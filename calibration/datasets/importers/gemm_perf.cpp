// AIConfigurator's gemm_perf: one row a matrix product as the framework's linear layer calls it,
// quantisation of the activations included; one buffer repeated, so warm.
#include "calibration/datasets/importer.hpp"

namespace foretoken {

void import_gemm_perf(const MeasuredFile& file, SampleSink& sink) {
  CsvRows rows(file.path);
  const int source = rows.column("kernel_source"), dtype = rows.column("gemm_dtype"),
            m = rows.column("m"), n = rows.column("n"), k = rows.column("k"),
            latency = rows.column("latency");
  while (rows.next()) {
    Gemm gemm;
    gemm.m = rows.integer(m);
    gemm.n = rows.integer(n);
    gemm.k = rows.integer(k);
    gemm.dtype = parse_table_dtype(rows, dtype);
    gemm.implementation = table_implementation(rows.text(source), file.framework);
    sink.add({gemm, file.gpu, Seconds(rows.number(latency) * 1e-3), std::string(rows.text(source)),
              "aiconfigurator", gemm_layout(gemm)});
  }
}

}  // namespace foretoken
