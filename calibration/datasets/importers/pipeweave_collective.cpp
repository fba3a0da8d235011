// PipeWeave's profiles of NCCL, one file an operation: bytes, and the kernel's own milliseconds as
// PyTorch's profiler has them. Kernels of eager launches wait for each other's ranks, so small
// messages scatter by twice; the median of a size stands for it.
#include "calibration/datasets/comm_importer.hpp"

namespace foretoken {

void import_pipeweave_collective(const CommFile& file, CommDataset& dataset) {
  std::string name = file.path.filename().string();
  name.resize(std::min(name.size(), name.find('.')));
  const auto op = parse_enum<CollectiveOp>(name);
  if (!op) throw ConfigError({file.path.string()}, "is named after no collective");
  CsvRows rows(file.path);
  const int ranks = rows.column("num_workers"), size = rows.column("size"),
            median = rows.column("median");
  while (rows.next()) {
    CommSample sample;
    sample.gpu = file.gpu;
    sample.op = *op;
    sample.ranks = static_cast<int>(rows.integer(ranks));
    sample.library = CommLibrary::nccl;
    sample.launch = CommLaunch::torch;
    sample.bytes = static_cast<double>(rows.integer(size));
    sample.time = Seconds(rows.number(median) * 1e-3);
    sample.origin = pipeweave_origin;
    dataset.samples.push_back(std::move(sample));
  }
}

}  // namespace foretoken
