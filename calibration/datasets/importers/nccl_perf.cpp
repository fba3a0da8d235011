// AIConfigurator's nccl_perf (nccl-tests on one node) and custom_allreduce_perf (the all-reduce of
// a serving framework, which falls back to NCCL for large messages). `message_size` counts
// elements, in all three tables of a GPU alike: half at 256 takes as long as int8 at 512, and only
// so do 512 MB of eight H100s move at NVLink's 445 GB/s instead of half of it.
#include <array>

#include "calibration/datasets/comm_importer.hpp"
#include "sim/base/nearest_name.hpp"

namespace foretoken {
namespace {

template <class Entry, std::size_t size>
const Entry& known(const std::array<Entry, size>& entries, const CsvRows& rows, int column) {
  std::vector<std::string_view> names;
  for (const Entry& entry : entries) {
    if (entry.name == rows.text(column)) return entry;
    names.emplace_back(entry.name);
  }
  throw ConfigError(rows.position(),
                    unknown_name_message(rows.columns()[static_cast<std::size_t>(column)],
                                         rows.text(column), names));
}

struct ElementFormat {
  std::string_view name;
  double bytes;
};
constexpr auto element_formats =
    std::to_array<ElementFormat>({{"half", 2}, {"bfloat16", 2}, {"float16", 2}, {"int8", 1}});

struct NamedOperation {
  std::string_view name;
  CollectiveOp op;
};
constexpr auto operations =
    std::to_array<NamedOperation>({{"all_reduce", CollectiveOp::all_reduce},
                                   {"all_gather", CollectiveOp::all_gather},
                                   {"reduce_scatter", CollectiveOp::reduce_scatter},
                                   {"alltoall", CollectiveOp::all_to_all}});

struct Source {
  std::string_view name;
  CommLibrary library;
  CommLaunch launch;
};
constexpr auto sources =
    std::to_array<Source>({{"NCCL", CommLibrary::nccl, CommLaunch::bench},
                           {"vLLM_custom_graph", CommLibrary::vllm, CommLaunch::graph},
                           {"vLLM_custom_eager", CommLibrary::vllm, CommLaunch::eager},
                           {"SGLang_CustomAllReduce_graph", CommLibrary::sglang, CommLaunch::graph},
                           {"SGLang_CustomAllReduce_eager", CommLibrary::sglang, CommLaunch::eager},
                           {"TRTLLM", CommLibrary::trtllm, CommLaunch::graph}});

void import_table(const CommFile& file, std::string_view dtype_column, CommDataset& dataset) {
  CsvRows rows(file.path);
  const int operation = rows.column("op_name"), source = rows.column("kernel_source"),
            dtype = rows.column(dtype_column), gpus = rows.column("num_gpus"),
            size = rows.column("message_size"), latency = rows.column("latency");
  while (rows.next()) {
    CommSample sample;
    sample.gpu = file.gpu;
    sample.ranks = static_cast<int>(rows.integer(gpus));
    sample.op = known(operations, rows, operation).op;
    const Source& by = known(sources, rows, source);
    sample.library = by.library;
    sample.launch = by.launch;
    sample.version = file.version;
    sample.element_bytes = known(element_formats, rows, dtype).bytes;
    sample.bytes = static_cast<double>(rows.integer(size)) * sample.element_bytes;
    sample.time = Seconds(rows.number(latency) * 1e-3);
    sample.origin = "aiconfigurator";
    dataset.samples.push_back(std::move(sample));
  }
}

}  // namespace

void import_nccl_perf(const CommFile& file, CommDataset& dataset) {
  import_table(file, "nccl_dtype", dataset);
}

void import_custom_allreduce_perf(const CommFile& file, CommDataset& dataset) {
  import_table(file, "allreduce_dtype", dataset);
}

}  // namespace foretoken
