#include "calibration/evaluate/tile_gap_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "calibration/evaluate/tile_report.hpp"
#include "kernels/tiles/tile_selector.hpp"

namespace foretoken {
namespace {

/// Sums of logarithms by class, in the order in which costs are first named.
class Speeds {
 public:
  void add(std::string_view name, std::string_view what, const std::string& kind, double speed) {
    auto known = std::ranges::find(lines_, name, &TileGapReport::Line::name);
    if (known == lines_.end()) {
      known = lines_.insert(lines_.end(), {std::string(name), std::string(what), {}});
    }
    for (const std::string& group : {kind, std::string("all")}) {
      known->speeds[group] += std::log(speed);
    }
  }

  std::vector<TileGapReport::Line> means(const std::map<std::string, int>& shapes) {
    for (TileGapReport::Line& line : lines_) {
      for (auto& [kind, sum] : line.speeds) sum = std::exp(sum / shapes.at(kind));
    }
    return std::move(lines_);
  }

 private:
  std::vector<TileGapReport::Line> lines_;
};

}  // namespace

TileGapReport::TileGapReport(const TileTimes& file) : file_(file.file) {
  const TileMachine machine = tile_machine(load_gpu(file.gpu, {}), file.dtype);
  const auto model = make_tile_model(std::string(default_tile_model(GpuVendor::nvidia)), {});
  Speeds speeds;
  std::map<std::string, int> shapes;
  for (const TiledShape& shape : file.shapes) {
    if (is_fitted_shape(shape.product) || shape.cublas <= Seconds(0)) continue;
    ++shapes[shape.kind];
    ++shapes["all"];
    const TileJudgement judged = judge_tiles(*model, machine, shape);
    const auto add = [&](std::string_view name, std::string_view what, double seconds) {
      speeds.add(name, what, shape.kind, shape.cublas.value() / seconds);
    };
    add("best", "measured: the best tile", shape.best().raced->value());
    add("selected", "measured: the selected tile", judged.picked->time().value());
    add("predicted", "predicted: the selected tile", judged.predicted);
    for (const TileGap& gap : model->gaps(shape.product, judged.picked->tile, machine)) {
      add(gap.name, gap.what, gap.cycles / machine.clock);
    }
  }
  lines_ = speeds.means(shapes);
}

std::string TileGapReport::text() const {
  if (lines_.empty()) return "";
  std::string out =
      fmt::format("speed of Triton GEMMs, cuBLAS = 1, GEMMs judged ({})\n{:34}", file_, "");
  for (const auto& [kind, speed] : lines_.front().speeds) out += fmt::format(" {:>7}", kind);
  out += '\n';
  for (const Line& line : lines_) {
    out += fmt::format("{:34}", line.what);
    for (const auto& [kind, speed] : line.speeds) out += fmt::format(" {:7.2f}", speed);
    out += '\n';
  }
  return out;
}

Value TileGapReport::json() const {
  Value root;
  for (const Line& line : lines_) {
    Value speeds;
    for (const auto& [kind, speed] : line.speeds) speeds.set(kind, speed);
    root.set(line.name, std::move(speeds));
  }
  return root;
}

}  // namespace foretoken
