#include "calibration/fit/all_reduce_fit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "calibration/fit/fabric_parts.hpp"
#include "kernels/communication/collective_algorithm.hpp"

namespace foretoken {
namespace {

/// A point further off than 10 % is an outlier, which must not buy itself a piece.
constexpr double point_loss_max = 0.01;

struct Point {
  double bytes = 0, us = 0;
};

/// us = start + slope * bytes.
struct Line {
  double start = 0, slope = 0;
  double loss = 0;  // sum of squared relative errors, each up to point_loss_max
  [[nodiscard]] double at(double bytes) const { return start + slope * bytes; }
};

/// Ranges of sizes with one algorithm, whatever pieces the table has them in.
struct SizeRange {
  std::string algorithm;
  double above = 0, below = 0;
};

std::vector<SizeRange> ranges_of(const AllReduceChoice& choice) {
  std::vector<SizeRange> ranges;
  for (const AllReduceKernel& kernel : choice.kernels) {
    if (!ranges.empty() && ranges.back().algorithm == kernel.algorithm) {
      ranges.back().below = kernel.bytes_below;
    } else {
      ranges.push_back(
          {kernel.algorithm, ranges.empty() ? 0 : ranges.back().below, kernel.bytes_below});
    }
  }
  return ranges;
}

/// Weighted by 1 / us^2, no flatter than full rate and no start below 0.
Line line_through(std::span<const Point> points, double least_slope) {
  double s = 0, sx = 0, sxx = 0, sy = 0, sxy = 0;
  for (const auto& [x, y] : points) {
    const double weight = 1 / (y * y);
    s += weight, sx += weight * x, sxx += weight * x * x, sy += weight * y, sxy += weight * x * y;
  }
  Line line;
  const double determinant = s * sxx - sx * sx;
  if (points.size() > 1 && determinant > 0) line.slope = (s * sxy - sx * sy) / determinant;
  line.slope = std::max(line.slope, least_slope);
  line.start = (sy - line.slope * sx) / s;
  if (line.start < 0) line = {0, std::max(least_slope, sxy / sxx)};
  for (const auto& [x, y] : points)
    line.loss += std::min(point_loss_max, std::pow(line.at(x) / y - 1, 2));
  return line;
}

struct Piece {
  std::size_t end = 0;  // of its points
  Line line;
};

/// As few lines as keep the error small, none of which begins below where the one before ends.
std::vector<Piece> pieces_of(std::span<const Point> points, double least_slope) {
  constexpr double price_of_a_piece = 0.012;  // what another one must save: more than one outlier
  constexpr double step_down_max = 0.01;
  constexpr std::size_t points_least = 2;
  struct Best {
    double loss = std::numeric_limits<double>::infinity();
    std::size_t begin = 0;
    Line line;
  };
  std::vector<Best> best(points.size() + 1);
  best[0].loss = 0;
  for (std::size_t end = 1; end <= points.size(); ++end) {
    for (std::size_t begin = 0; begin < end; ++begin) {
      if (end - begin < std::min(points_least, points.size())) continue;
      const Line line = line_through(points.subspan(begin, end - begin), least_slope);
      const double joint = points[begin].bytes;
      if (begin > 0 && line.at(joint) < (1 - step_down_max) * best[begin].line.at(joint)) continue;
      const double loss = best[begin].loss + line.loss + price_of_a_piece;
      if (loss < best[end].loss) best[end] = {loss, begin, line};
    }
  }
  std::vector<Piece> pieces;
  for (std::size_t end = points.size(); end > 0; end = best[end].begin)
    pieces.insert(pieces.begin(), {end, best[end].line});
  return pieces;
}

/// What the formula gives a kernel of full share and no launch: latency, and us a byte.
Line full_rate_line(const std::string& algorithm, const EngineRow& row,
                    const CommParameters& parameters) {
  AllReduceKernel kernel{algorithm, 0, {Seconds(0), Seconds(0), 1.0}};
  const auto us = [&](double bytes) {
    const CollectiveCall call{.size = Bytes(bytes)};
    const auto cost = cost_by(kernel, call, row.row.links, parameters);
    FORETOKEN_CHECK(cost.has_value(), "{} does not serve {} ranks of {}", algorithm,
                    row.row.links.ranks, row.row.gpu);
    return cost->time().value() * 1e6;
  };
  constexpr double mib = 1 << 20;
  const double start = us(0);
  return {start, (us(mib) - start) / mib};
}

/// Points of a range from all rows, geometric means of those of one size.
std::vector<Point> points_in(const SizeRange& range, std::span<const EngineRow> rows) {
  std::map<double, std::pair<double, int>> by_size;
  for (const EngineRow& row : rows) {
    const double bytes = row.row.point.bytes;
    if (bytes < range.above || bytes >= range.below) continue;
    auto& [sum, count] = by_size[bytes];
    sum += std::log(row.row.time.value() * 1e6);
    ++count;
  }
  std::vector<Point> points;
  for (const auto& [bytes, mean] : by_size)
    points.push_back({bytes, std::exp(mean.first / mean.second)});
  return points;
}

AllReduceKernel kernel_of(const SizeRange& range, const Line& line, double below,
                          const Line& full) {
  AllReduceKernel kernel{range.algorithm, below, {}};
  kernel.costs.launch = Seconds(three_digits(std::max(0.0, line.start - full.start)) * 1e-6);
  kernel.costs.share = std::min(1.0, three_digits(full.slope / line.slope));
  return kernel;
}

/// Beyond the largest size measured: a byte costs no less than on the last step up, where the links
/// decide, though a line through all sizes, most of them small, may say so. It begins no lower than
/// `full`, which has no launch.
Line line_beyond(std::span<const Point> points, const Line& last, const Line& full) {
  const Point end = points.back();
  const Point before = points[points.size() - 2];
  const double end_us = std::max(end.us, last.at(end.bytes));
  const double steepest = (end_us - full.start) / end.bytes;
  const double last_step = (end.us - before.us) / (end.bytes - before.bytes);
  Line line;
  line.slope = std::min(std::max(last.slope, last_step), steepest);
  line.start = end_us - line.slope * end.bytes;
  return line;
}

std::vector<AllReduceKernel> kernels_of(const SizeRange& range, std::span<const Point> points,
                                        const Line& full) {
  constexpr double noticed = 0.05;  // less is not worth a piece
  std::vector<AllReduceKernel> kernels;
  const std::vector<Piece> pieces = pieces_of(points, full.slope);
  Line before;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    Line line = pieces[i].line;
    if (i > 0) {
      const double joint = points[pieces[i - 1].end].bytes;
      line.start += std::max(0.0, before.at(joint) - line.at(joint));
    }
    before = line;
    const double below = i + 1 == pieces.size() ? range.below : points[pieces[i].end].bytes;
    kernels.push_back(kernel_of(range, line, below, full));
  }
  const bool goes_beyond = points.size() > 1 && range.below > points.back().bytes + 1;
  if (!goes_beyond) return kernels;
  const Line beyond = line_beyond(points, before, full);
  if (beyond.at(range.below) > (1 + noticed) * before.at(range.below)) {
    kernels.back().bytes_below = points.back().bytes + 1;
    kernels.push_back(kernel_of(range, beyond, range.below, full));
  }
  return kernels;
}

}  // namespace

AllReduceChoices fit_all_reduce(const AllReduceChoices& table, std::span<const EngineRow> rows) {
  MeasuredClusters clusters;
  std::vector<AllReduceChoice> fitted;
  for (AllReduceChoice choice : table.choices()) {
    std::vector<EngineRow> own;
    std::ranges::copy_if(rows, std::back_inserter(own), [&](const EngineRow& row) {
      return row.engine == choice.engine && row.since == choice.since &&
             row.fabric == choice.fabric && row.row.point.ranks == choice.ranks;
    });
    std::vector<AllReduceKernel> kernels;
    for (const SizeRange& range : ranges_of(choice)) {
      const std::vector<Point> points = points_in(range, own);
      if (points.empty()) {
        std::ranges::copy_if(
            choice.kernels, std::back_inserter(kernels), [&](const AllReduceKernel& kernel) {
              return kernel.bytes_below > range.above && kernel.bytes_below <= range.below;
            });
        continue;
      }
      const EngineRow& any = own.front();
      const CommParameters& known = clusters.find(any.row.gpu, any.row.cluster).comm;
      std::ranges::move(kernels_of(range, points, full_rate_line(range.algorithm, any, known)),
                        std::back_inserter(kernels));
    }
    choice.kernels = std::move(kernels);
    fitted.push_back(std::move(choice));
  }
  return AllReduceChoices(std::move(fitted));
}

}  // namespace foretoken
