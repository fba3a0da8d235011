#include "calibration/datasets/doubted_rows.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace foretoken {
namespace {

/// How far beyond both neighbours a row must be. What kernels do for real stays below: vLLM's fp8
/// product with one row in its last tile takes up to 1.7 times as long as with that tile full.
constexpr double contradiction = 1.8;

struct Point {
  std::int64_t m = 0;
  double time = 0;  // mean of the samples
  std::vector<std::size_t> samples;
};
using Curve = std::vector<Point>;  // by m

/// Everything that a curve's rows share: the kernel with its m taken out, GPU and source.
struct CurveKey {
  Kernel kernel;
  std::string gpu, source;
  friend bool operator==(const CurveKey&, const CurveKey&) = default;
};
struct CurveHash {
  std::size_t operator()(const CurveKey& key) const {
    return kernel_hash(key.kernel) ^ std::hash<std::string>()(key.gpu) ^
           std::hash<std::string>()(key.source) * 31;
  }
};

std::vector<Curve> curves_of(const Dataset& dataset) {
  std::unordered_map<CurveKey, std::map<std::int64_t, Point>, CurveHash> points;
  for (std::size_t i = 0; i < dataset.samples.size(); ++i) {
    const Sample& sample = dataset.samples[i];
    const auto* gemm = std::get_if<Gemm>(&sample.kernel);
    if (gemm == nullptr) continue;
    Gemm any_m = *gemm;
    any_m.m = 0;
    Point& point = points[{any_m, sample.gpu, sample.origin + sample.source_name}][gemm->m];
    point.m = gemm->m;
    point.time += sample.time.value();
    point.samples.push_back(i);
  }
  std::vector<Curve> curves;
  for (auto& [key, by_m] : points) {
    Curve& curve = curves.emplace_back();
    for (auto& [m, point] : by_m) {
      point.time /= static_cast<double>(point.samples.size());
      curve.push_back(std::move(point));
    }
  }
  return curves;
}

bool is_too_dear(const Point& before, const Point& point, const Point& after) {
  return point.time > contradiction * std::max(before.time, after.time);
}
bool is_too_cheap(const Point& before, const Point& point, const Point& after) {
  return point.time * contradiction < std::min(before.time, after.time);
}

/// Takes points out of the curve until none is what `is_wrong` says of it between its neighbours.
template <class IsWrong>
void take_out(Curve& curve, IsWrong is_wrong, std::vector<DoubtedRow>& out) {
  for (std::size_t i = 1; i + 1 < curve.size();) {
    const Point &before = curve[i - 1], &after = curve[i + 1];
    if (!is_wrong(before, curve[i], after)) {
      ++i;
      continue;
    }
    for (const std::size_t sample : curve[i].samples) {
      out.push_back({sample, Seconds(before.time), Seconds(after.time), before.m, after.m});
    }
    curve.erase(curve.begin() + static_cast<std::ptrdiff_t>(i));
    if (i > 1) --i;  // the one before has a new neighbour
  }
}

}  // namespace

std::vector<DoubtedRow> doubt_rows(Dataset& dataset) {
  std::vector<DoubtedRow> doubted;
  for (Curve& curve : curves_of(dataset)) {
    take_out(curve, is_too_dear, doubted);
    take_out(curve, is_too_cheap, doubted);
  }
  std::ranges::sort(doubted, {}, &DoubtedRow::sample);
  for (const DoubtedRow& row : doubted) dataset.samples[row.sample].is_doubted = true;
  return doubted;
}

}  // namespace foretoken
