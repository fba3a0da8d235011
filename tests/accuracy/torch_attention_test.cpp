// FlashAttention-2 as PyTorch 2.11 launched it on our H200 (calibration/datasets/h200): grids and
// shared memory of every launch, from the rows whose times were taken.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "kernels/decomposition.hpp"
#include "workloads/measurements/measured_rows.hpp"

namespace foretoken {
namespace {

struct Share {
  int matched = 0, all = 0;
};

std::string grids(const Decomposition& decomposition) {
  std::string text;
  for (const Launch& launch : decomposition.launches) {
    const LaunchShape& shape = launch.shape;
    text += fmt::format("{}{}x{}x{}", text.empty() ? "" : " + ", shape.grid_x, shape.grid_y,
                        shape.grid_z);
  }
  return text;
}

// A single prompt is launched in another way by the interface for variable lengths than by the dense
// one, which is the one assumed: the only rows that differ.
TEST(TorchAttention, LaunchesAsRecorded) {
  const std::string path =
      std::string(FORETOKEN_SOURCE_DIR) + "/calibration/datasets/h200/attention_torch.csv.gz";
  const GpuSpec gpu = load_gpu("h200-sxm", {});
  CsvRows cells(path);
  MeasuredRows rows(path);
  const int grid = cells.column("grid");
  const int shared = cells.column("dynamic_shared_bytes");
  std::map<std::string, Share> shares;
  for (MeasuredLaunch row; cells.next() && rows.next(row);) {
    if (row.source_name == "torch_cudnn") continue;
    const Decomposition decomposition = decompose(row.kernel, gpu);
    const Launch& launch = decomposition.launches.front();
    const auto bytes = static_cast<std::int64_t>(launch.shape.shared_memory.value());
    const std::string recorded(cells.text(shared));  // of all kernels, joined by " + "
    const bool is_same = grids(decomposition) == cells.text(grid) &&
                         recorded.substr(0, recorded.find(' ')) == std::to_string(bytes);
    EXPECT_EQ(launch.task_count(), launch.shape.ctas()) << "line " << row.position.line;
    Share& share = shares[row.source_name];
    ++share.all;
    share.matched += is_same ? 1 : 0;
    const auto& load = std::get<Attention>(row.kernel).load;
    EXPECT_TRUE(is_same || load.sequences.size() == 1)
        << "line " << row.position.line << ": " << grids(decomposition) << " instead of "
        << cells.text(grid);
  }
  for (const auto& [source, share] : shares) {
    std::cout << fmt::format("{:20} {:4} of {:4} launches match\n", source, share.matched,
                             share.all);
  }
  EXPECT_EQ(shares["torch_flash"].all, 1017);
  EXPECT_EQ(shares["torch_flash"].matched, 1017);
  EXPECT_EQ(shares["torch_flash_varlen"].all, 552);
  EXPECT_GE(shares["torch_flash_varlen"].matched, 537);
}

}  // namespace
}  // namespace foretoken
