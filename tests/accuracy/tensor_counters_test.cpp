// SynPerf's Table VII on our own H200: tensor operations of cuBLAS launches, in all and on the
// busiest SM, as Nsight Compute counted them (calibration/datasets/h200/tensor_ops_*.csv), against
// the launch that the tile in the kernel's name implies.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "kernels/tasks/decomposers/gemm_launch.hpp"
#include "kernels/tasks/sm_scheduler.hpp"
#include "workloads/requests/text_lines.hpp"

namespace foretoken::tensor_counters_test {
namespace {

using Row = std::map<std::string, std::string>;

/// Cells of a line, quotes around them taken off.
std::vector<std::string> cells_of(std::string_view line) {
  std::vector<std::string> cells(1);
  bool is_quoted = false;
  for (const char c : line) {
    if (c == '"') {
      is_quoted = !is_quoted;
    } else if (c == ',' && !is_quoted) {
      cells.emplace_back();
    } else {
      cells.back() += c;
    }
  }
  return cells;
}

std::vector<Row> read_rows(const std::string& path) {
  TextLines lines(path);
  std::vector<std::string> columns;
  std::vector<Row> rows;
  for (std::string_view line; lines.next(line);) {
    if (line.starts_with('#')) continue;
    const auto cells = cells_of(line);
    if (columns.empty()) {
      columns = cells;
      continue;
    }
    Row row;
    for (std::size_t i = 0; i < columns.size() && i < cells.size(); ++i) row[columns[i]] = cells[i];
    rows.push_back(std::move(row));
  }
  return rows;
}

/// "…_320x128_64x3_1x2_h_bz…": the cluster; of the row the rest. cuBLAS's first number is our n.
TileConfig tile_of(const Row& row) {
  const auto number = [&](const char* column) { return std::stoi(row.at(column)); };
  TileConfig tile = {.m = number("tile_n"),
                     .n = number("tile_m"),
                     .k = number("tile_k"),
                     .stages = number("stages"),
                     .split_k = number("split_k_plan")};
  const std::string before = fmt::format("_{}x{}_{}x{}_", tile.n, tile.m, tile.k, tile.stages);
  const std::string& name = row.at("kernel_name");
  const std::size_t at = name.find(before) + before.size();
  const std::size_t cross = name.find('x', at);
  tile.cluster_n = std::stoi(name.substr(at, cross - at));
  tile.cluster_m = std::stoi(name.substr(cross + 1));
  return tile;
}

struct Agreement {
  int rows = 0, total = 0, busiest = 0;
  double worst = 0;  // relative error of the busiest SM
};

Agreement compare(const std::string& file, DType dtype) {
  const GpuSpec gpu = load_gpu("h200-sxm", {});
  Agreement result;
  for (const Row& row :
       read_rows(std::string(FORETOKEN_SOURCE_DIR) + "/calibration/datasets/h200/" + file)) {
    const GemmShape shape = {std::stoll(row.at("m")), std::stoll(row.at("n")),
                             std::stoll(row.at("k"))};
    const GemmLaunchOptions options = {
        .scheduling = Scheduling::persistent, .threads = 384, .registers = 168};
    const Launch launch = gemm_launch("cublas", tile_of(row), shape, dtype, options, gpu);
    const LoadSummary load = summarise(schedule(launch, gpu));
    const auto error = [&](double ours, const char* column) {
      return std::abs(ours / std::stod(row.at(column)) - 1);
    };
    const double busiest = error(load.busiest.tensor_ops, "tensor_ops_max_sm");
    ++result.rows;
    result.total += error(load.total.tensor_ops, "tensor_ops_total") < 1e-6 ? 1 : 0;
    result.busiest += busiest < 1e-6 ? 1 : 0;
    result.worst = std::max(result.worst, busiest);
  }
  std::cout << fmt::format(
      "{}: {} launches; total equal in {}, busiest SM in {} (worst {:.1f} % off)\n", file,
      result.rows, result.total, result.busiest, 100 * result.worst);
  return result;
}

// The launches that differ on the busiest SM start with a memset: their CTAs fetch tiles from a
// counter, so that one SM may take a round more than its share.
TEST(TensorCounters, CublasBf16) {
  const Agreement agreement = compare("tensor_ops_bf16.csv", DType::bf16);
  EXPECT_EQ(agreement.rows, 400);
  EXPECT_EQ(agreement.total, agreement.rows);
  EXPECT_GE(agreement.busiest, 396);
  EXPECT_LE(agreement.worst, 0.21);
}

TEST(TensorCounters, CublasFp8) {
  const Agreement agreement = compare("tensor_ops_fp8.csv", DType::fp8);
  EXPECT_EQ(agreement.rows, 150);
  EXPECT_EQ(agreement.total, agreement.rows);
  EXPECT_GE(agreement.busiest, 143);
  EXPECT_LE(agreement.worst, 0.21);
}

}  // namespace
}  // namespace foretoken::tensor_counters_test
