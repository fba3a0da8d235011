#include "calibration/datasets/tile_times.hpp"

#include <algorithm>

#include "workloads/measurements/measured_rows.hpp"

namespace foretoken {
namespace {

namespace fs = std::filesystem;

/// What the operands were; older tables do not say so: bf16.
DType operands(const CsvRows& rows) {
  const std::string_view said = rows.provenance("dtype");
  if (said.empty()) return DType::bf16;
  if (const auto dtype = parse_enum<DType>(said)) return *dtype;
  throw ConfigError(rows.provenance_position("dtype"),
                    fmt::format("'{}' is not a number format", said));
}

class Reader {
 public:
  explicit Reader(const fs::path& path)
      : path_(path),
        rows_(path),
        dtype_(operands(rows_)),
        kind_(rows_.column("class")),
        sizes_{rows_.column("m"), rows_.column("n"), rows_.column("k")},
        library_(rows_.column("library")),
        tile_{rows_.column("block_m"), rows_.column("block_n"), rows_.column("block_k"),
              rows_.column("warps"),   rows_.column("stages"),  rows_.column("group_m"),
              rows_.column("split_k")},
        screened_(rows_.column("screen_us")),
        raced_(rows_.column("time_us")) {}

  TileTimes read(std::string file) {
    TileTimes times{std::move(file), measured_gpu(rows_, path_), dtype_, {}};
    while (rows_.next()) add(times.shapes);
    for (TiledShape& shape : times.shapes) {
      check(shape);
      rescale(shape);
    }
    return times;
  }

 private:
  void add(std::vector<TiledShape>& shapes) {
    const TiledProduct product = tiled_product(rows_.integer(sizes_[0]), rows_.integer(sizes_[1]),
                                               rows_.integer(sizes_[2]), dtype_);
    if (rows_.text(library_) == "cublas") {  // the first row of a shape
      shapes.push_back({std::string(rows_.text(kind_)), product, microseconds(raced_), {}});
      return;
    }
    if (shapes.empty() || !(shapes.back().product == product)) {
      shapes.push_back({std::string(rows_.text(kind_)), product, Seconds(0), {}});
    }
    TileTime time;
    time.tile = {.m = integer(0),
                 .n = integer(1),
                 .k = integer(2),
                 .warps = integer(3),
                 .stages = integer(4),
                 .group_m = integer(5),
                 .split_k = integer(6)};
    if (!rows_.text(screened_).empty()) time.screened = microseconds(screened_);
    if (!rows_.text(raced_).empty()) time.raced = microseconds(raced_);
    if (time.time() <= Seconds(0)) throw ConfigError(rows_.position(), "a tile without a time");
    shapes.back().tiles.push_back(time);
  }

  /// By the median ratio of both times of the candidates that have both.
  static void rescale(TiledShape& shape) {
    std::vector<double> ratios;
    for (const TileTime& time : shape.tiles) {
      if (time.raced && time.screened > Seconds(0)) ratios.push_back(*time.raced / time.screened);
    }
    if (ratios.empty()) return;
    const auto middle = ratios.begin() + std::ssize(ratios) / 2;
    std::ranges::nth_element(ratios, middle);
    for (TileTime& time : shape.tiles) time.screened = time.screened * *middle;
  }

  void check(const TiledShape& shape) const {
    const bool has_raced = std::ranges::any_of(
        shape.tiles, [](const TileTime& time) { return time.raced.has_value(); });
    if (!has_raced) {
      throw ConfigError(rows_.position(),
                        fmt::format("{} x {} x {}: no tile has a precise time", shape.product.m,
                                    shape.product.n, shape.product.k));
    }
  }

  [[nodiscard]] Seconds microseconds(int column) const {
    return Seconds(rows_.number(column) * 1e-6);
  }
  [[nodiscard]] int integer(std::size_t column) const {
    return static_cast<int>(rows_.integer(tile_[column]));
  }

  fs::path path_;
  CsvRows rows_;
  DType dtype_;
  int kind_;
  std::array<int, 3> sizes_;
  int library_;
  std::array<int, 7> tile_;
  int screened_, raced_;
};

}  // namespace

const TileTime& TiledShape::best() const {
  const TileTime* best = nullptr;
  for (const TileTime& time : tiles) {
    if (time.raced && (best == nullptr || *time.raced < *best->raced)) best = &time;
  }
  FORETOKEN_CHECK(best != nullptr, "a shape without precise times");
  return *best;
}

std::vector<TileTimes> load_tile_times(const fs::path& path) {
  std::vector<TileTimes> all;
  for (const fs::path& file : measured_files(path)) {
    if (CsvRows(file).provenance("format") != tile_times_format) continue;
    const std::string name = (file.parent_path().filename() / file.filename()).string();
    // The table of what kernels take of an SM says the same format, and has no times.
    if (CsvRows(file).find("time_us") < 0) continue;
    all.push_back(Reader(file).read(name));
  }
  if (all.empty()) {
    throw ConfigError(
        {path.string()},
        "has no times of tiles; calibration/measure/gemm_tiles_triton.py writes them");
  }
  return all;
}

}  // namespace foretoken
