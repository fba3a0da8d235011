#include "calibration/datasets/stream_k_times.hpp"

#include <algorithm>

#include "workloads/measurements/measured_rows.hpp"

namespace foretoken {
namespace {

class StreamKReader {
 public:
  explicit StreamKReader(const std::filesystem::path& path)
      : path_(path),
        rows_(path),
        kind_(rows_.column("class")),
        method_(rows_.column("method")),
        split_(rows_.column("split_k")),
        grid_(rows_.column("grid")),
        time_(rows_.column("time_us")),
        sizes_{rows_.column("m"), rows_.column("n"), rows_.column("k")},
        tile_{rows_.column("block_m"), rows_.column("block_n"), rows_.column("block_k"),
              rows_.column("warps"),   rows_.column("stages"),  rows_.column("group_m")} {}

  StreamKTimes read(std::string file) {
    StreamKTimes times{std::move(file), measured_gpu(rows_, path_), DType::bf16, {}};
    while (rows_.next()) {
      if (rows_.text(method_) != "cublas") add(times.cases);
    }
    for (StreamKCase& one : times.cases) finish(one);
    return times;
  }

 private:
  /// The rows of a case follow each other, the plain kernel first.
  void add(std::vector<StreamKCase>& cases) {
    const TiledProduct product = tiled_product(rows_.integer(sizes_[0]), rows_.integer(sizes_[1]),
                                               rows_.integer(sizes_[2]), DType::bf16);
    const auto side = [&](std::size_t column) {
      return static_cast<int>(rows_.integer(tile_[column]));
    };
    const ProductTile tile = {.m = side(0),
                              .n = side(1),
                              .k = side(2),
                              .warps = side(3),
                              .stages = side(4),
                              .group_m = side(5)};
    const Seconds time(rows_.number(time_) * 1e-6);
    if (!(time > Seconds(0))) throw ConfigError(rows_.position(), "a time must be positive");
    const std::string_view method = rows_.text(method_);
    if (method == "data_parallel") {
      cases.push_back({std::string(rows_.text(kind_)), product, tile, time, {}, {}});
      return;
    }
    if (cases.empty() || !(cases.back().product == product) || !(cases.back().tile == tile)) {
      throw ConfigError(rows_.position(), "a tile of a shape must begin with data_parallel");
    }
    if (method == "split_k") {
      cases.back().splits.push_back({static_cast<int>(rows_.integer(split_)), time});
    } else if (method == "stream_k") {
      cases.back().grids.push_back({rows_.integer(grid_), time});
    } else {
      throw ConfigError(rows_.position(), fmt::format("unknown method '{}'", method));
    }
  }

  void finish(StreamKCase& one) const {
    std::ranges::sort(one.grids, {}, &StreamKTime::grid);
    const std::int64_t tiles = one.tiles();
    if (std::ranges::find(one.grids, tiles, &StreamKTime::grid) == one.grids.end()) {
      throw ConfigError(
          rows_.position(),
          fmt::format("{} x {} x {} in {}: no Stream-K grid of {} CTAs, one a tile", one.product.m,
                      one.product.n, one.product.k, tile_text(one.tile), tiles));
    }
  }

  std::filesystem::path path_;
  CsvRows rows_;
  int kind_, method_, split_, grid_, time_;
  std::array<int, 3> sizes_;
  std::array<int, 6> tile_;
};

}  // namespace

const StreamKTime& StreamKCase::nearest(std::int64_t grid) const {
  const auto ratio = [&](const StreamKTime& time) {
    const auto a = static_cast<double>(time.grid), b = static_cast<double>(grid);
    return std::max(a, b) / std::min(a, b);
  };
  return *std::ranges::min_element(grids, {}, ratio);
}

const StreamKTime& StreamKCase::best() const {
  return *std::ranges::min_element(grids, {}, &StreamKTime::time);
}

std::vector<StreamKTimes> load_stream_k_times(const std::filesystem::path& path) {
  std::vector<StreamKTimes> all;
  for (const std::filesystem::path& file : measured_files(path)) {
    if (CsvRows(file).provenance("format") != stream_k_format) continue;
    const std::filesystem::path folder = file.parent_path().filename();
    all.push_back(StreamKReader(file).read((folder / file.filename()).string()));
  }
  return all;
}

}  // namespace foretoken
