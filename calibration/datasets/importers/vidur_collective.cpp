// Vidur's profiles of all_reduce and send_recv on DGX A100s, timed by PyTorch's profiler. `size`
// counts bytes (66 MB take eight GPUs as long as NCCL's own benchmark says); the median of a rank
// stands for all.
#include "calibration/datasets/comm_importer.hpp"

namespace foretoken {

void import_vidur_collective(const CommFile& file, CommDataset& dataset) {
  CsvRows rows(file.path);
  const int operation = rows.column("collective"), ranks = rows.column("num_workers"),
            size = rows.column("size"), per_node = rows.column("devices_per_node");
  while (rows.next()) {
    CommSample sample;
    sample.gpu = file.gpu;
    const auto op = parse_enum<CollectiveOp>(rows.text(operation));
    if (!op) {
      throw ConfigError(rows.position(),
                        fmt::format("unknown collective '{}'", rows.text(operation)));
    }
    sample.op = *op;
    const int median = rows.column(fmt::format("time_stats.{}.median", rows.text(operation)));
    sample.ranks = static_cast<int>(rows.integer(ranks));
    const std::int64_t devices = rows.integer(per_node);
    if (devices < 1 || sample.ranks % devices != 0) {
      throw ConfigError(rows.position(), fmt::format("{} workers do not divide by {} a node",
                                                     sample.ranks, devices));
    }
    sample.nodes = static_cast<int>(sample.ranks / devices);
    if (sample.nodes > 1) sample.cluster = "a100-sxm-8x2-ethernet";
    sample.library = CommLibrary::nccl;
    sample.launch = CommLaunch::torch;
    sample.bytes = static_cast<double>(rows.integer(size));
    sample.time = Seconds(rows.number(median) * 1e-3);
    sample.origin = "vidur";
    dataset.samples.push_back(std::move(sample));
  }
}

}  // namespace foretoken
