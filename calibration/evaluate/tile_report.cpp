#include "calibration/evaluate/tile_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <span>
#include <tuple>

#include "kernels/tiles/tile_candidates.hpp"
#include "kernels/tiles/tile_selector.hpp"
#include "sim/base/fingerprint.hpp"

namespace foretoken {
namespace {

constexpr double near_enough = 0.95;

/// The measured times of one bare tile: its groups and splits.
struct Base {
  ProductTile tile;  // group 1, split 1
  std::vector<const TileTime*> times;
};

bool is_same_base(const ProductTile& a, const ProductTile& b) {
  return a.m == b.m && a.n == b.n && a.k == b.k && a.warps == b.warps && a.stages == b.stages;
}

std::vector<Base> bases_of(const TiledShape& shape, const std::vector<ProductTile>& candidates) {
  std::vector<Base> bases;
  for (const TileTime& time : shape.tiles) {
    ProductTile bare = time.tile;
    bare.group_m = bare.split_k = 1;
    if (std::ranges::find(candidates, bare) == candidates.end()) continue;
    auto known = std::ranges::find_if(
        bases, [&](const Base& base) { return is_same_base(base.tile, bare); });
    if (known == bases.end()) known = bases.insert(bases.end(), {bare, {}});
    known->times.push_back(&time);
  }
  return bases;
}

/// The measured candidate of a base whose split, then group, is nearest in ratio.
const TileTime* nearest(const Base& base, const ProductTile& wanted) {
  const auto distance = [](int a, int b) { return std::abs(std::log(static_cast<double>(a) / b)); };
  const auto key = [&](const TileTime* time) {
    return std::pair(distance(time->tile.split_k, wanted.split_k),
                     distance(time->tile.group_m, wanted.group_m));
  };
  return *std::ranges::min_element(base.times, {}, key);
}

double intensity(const ProductTile& tile) {
  const double m = tile.m, n = tile.n, k = tile.k;
  return 2 * m * n * k / (m * k + n * k + m * n);
}

/// Tau-b of pairs of numbers: (concordant - discordant) over the geometric mean of untied pairs.
double kendall_tau(const std::vector<std::pair<double, double>>& points) {
  double agree = 0, untied_first = 0, untied_second = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const double a = points[i].first - points[j].first;
      const double b = points[i].second - points[j].second;
      untied_first += a != 0;
      untied_second += b != 0;
      if (a != 0 && b != 0) agree += (a > 0) == (b > 0) ? 1 : -1;
    }
  }
  return agree == 0 ? 0 : agree / std::sqrt(untied_first * untied_second);
}

double quantile(std::vector<double> values, double share) {
  std::ranges::sort(values);
  const auto rank = static_cast<std::size_t>(share * static_cast<double>(values.size() - 1) + 0.5);
  return values[rank];
}

double seconds(const TileLatency& latency, const TileMachine& machine) {
  return std::max(latency.total / machine.clock, machine.launch.value());
}

/// "-" where no library was timed.
std::string ratio_text(double ratio) { return ratio > 0 ? fmt::format("{:.2f}", ratio) : "-"; }

}  // namespace

bool is_fitted_shape(const TiledProduct& product) {
  return Fingerprint().add(std::string_view(fmt::format("{}x{}", product.n, product.k))).value() %
             2 ==
         0;
}

TileJudgement judge_tiles(const TileModel& model, const TileMachine& machine,
                          const TiledShape& shape) {
  const std::vector<Base> bases =
      bases_of(shape, model.knows_pipelines() ? pipelined_candidates(shape.product, machine)
                                              : tile_candidates(shape.product, machine));
  FORETOKEN_CHECK(!bases.empty(), "no candidate of the model was measured");
  std::vector<double> ranks;
  double best = std::numeric_limits<double>::infinity();
  std::vector<std::pair<double, double>> points;
  for (const Base& base : bases) {
    const ProductTile tile = model.prepared(shape.product, base.tile, machine);
    ranks.push_back(model.rank_cycles(shape.product, tile, machine));
    best = std::min(best, ranks.back());
    const TileTime* plain = nearest(base, base.tile);
    if (plain->screened > Seconds(0)) {
      points.emplace_back(model.rank_cycles(shape.product, base.tile, machine),
                          plain->screened.value());
    }
  }
  const Base* chosen = nullptr;
  for (std::size_t i = 0; i < bases.size(); ++i) {
    if (!(ranks[i] <= best + model.tie_cycles())) continue;
    if (chosen == nullptr || intensity(bases[i].tile) > intensity(chosen->tile)) {
      chosen = &bases[i];
    }
  }
  const ProductTile wanted =
      model.finished(shape.product, model.prepared(shape.product, chosen->tile, machine), machine);
  TileJudgement out;
  out.shape = &shape;
  out.picked = nearest(*chosen, wanted);
  out.efficiency = *shape.best().raced / out.picked->time();
  out.tau = kendall_tau(points);
  out.latency = model.latency(shape.product, out.picked->tile, machine);
  out.best_latency = model.latency(shape.product, shape.best().tile, machine);
  out.predicted = seconds(out.latency, machine);
  return out;
}

TileReport::TileReport(const TileTimes& file) : file_(file) {
  const TileMachine machine = tile_machine(load_gpu(file.gpu, {}), file.dtype);
  const auto catalog = tile_model_catalog();
  for (const auto& entry : catalog.entries()) {
    const auto model = entry.make();
    for (const TiledShape& shape : file.shapes) {
      all_.push_back(
          {entry.name, is_fitted_shape(shape.product), judge_tiles(*model, machine, shape)});
    }
  }
  summarise();
}

void TileReport::summarise() {
  struct Numbers {
    std::vector<double> efficiency, error;
    double tau = 0, bias = 0, log_cublas = 0, log_best = 0;
    int with_cublas = 0;
  };
  std::map<std::tuple<std::string, std::string, std::string>, Numbers> groups;
  for (const Judged& judged : all_) {
    const TileJudgement& one = judged.judgement;
    const double measured = one.picked->time().value();
    for (const std::string& half :
         {std::string(judged.is_fitted ? "fitted" : "judged"), std::string("all")}) {
      for (const std::string& kind : {one.shape->kind, std::string("all")}) {
        Numbers& numbers = groups[{judged.model, kind, half}];
        numbers.efficiency.push_back(one.efficiency);
        numbers.error.push_back(std::abs(one.predicted / measured - 1));
        numbers.bias += one.predicted / measured - 1;
        numbers.tau += one.tau;
        if (one.shape->cublas <= Seconds(0)) continue;
        ++numbers.with_cublas;
        numbers.log_cublas += std::log(one.shape->cublas.value() / measured);
        numbers.log_best += std::log(one.shape->cublas / *one.shape->best().raced);
      }
    }
  }
  for (const auto& [key, numbers] : groups) {
    const auto count = static_cast<double>(numbers.efficiency.size());
    Line line{std::get<0>(key), std::get<1>(key), std::get<2>(key), numbers.efficiency.size()};
    for (const double value : numbers.efficiency) {
      line.mean += value / count;
      line.near_best += (value >= near_enough) / count;
    }
    line.median = quantile(numbers.efficiency, 0.5);
    line.p10 = quantile(numbers.efficiency, 0.1);
    line.worst = *std::ranges::min_element(numbers.efficiency);
    line.tau = numbers.tau / count;
    if (numbers.with_cublas > 0) {
      line.against_cublas = std::exp(numbers.log_cublas / numbers.with_cublas);
      line.best_against_cublas = std::exp(numbers.log_best / numbers.with_cublas);
    }
    line.error = quantile(numbers.error, 0.5);
    line.bias = numbers.bias / count;
    lines_.push_back(line);
  }
}

const TileReport::Line* TileReport::find(std::string_view model, std::string_view kind,
                                         std::string_view half) const {
  const auto found = std::ranges::find_if(lines_, [&](const Line& line) {
    return line.model == model && line.kind == kind && line.half == half;
  });
  return found == lines_.end() ? nullptr : &*found;
}

std::string TileReport::text(std::size_t worst) const {
  std::size_t times = 0;
  for (const TiledShape& shape : file_.shapes) times += shape.tiles.size();
  std::string out = fmt::format(
      "selection efficiency (best measured time / time of the selected tile), {} shapes, {} "
      "times of tiles; {} on {} ({})\n"
      "{:16} {:8} {:7} {:>6} | {:>6} {:>6} {:>6} {:>6} {:>8} | {:>5} | {:>6} {:>9} | {:>6} {:>6}\n",
      file_.shapes.size(), times, enum_name(file_.dtype), file_.gpu, file_.file, "model", "class",
      "half", "shapes", "mean", "median", "p10", "worst", ">= 95 %", "tau", "cuBLAS", "best/cuB.",
      "error", "bias");
  for (const Line& line : lines_) {
    out += fmt::format(
        "{:16} {:8} {:7} {:>6} | {:6.1f} {:6.1f} {:6.1f} {:6.1f} {:8.0f} | {:5.2f} | {:>6} "
        "{:>9} | {:6.1f} {:+6.1f}\n",
        line.model, line.kind, line.half, line.shapes, 100 * line.mean, 100 * line.median,
        100 * line.p10, 100 * line.worst, 100 * line.near_best, line.tau,
        ratio_text(line.against_cublas), ratio_text(line.best_against_cublas), 100 * line.error,
        100 * line.bias);
  }
  out +=
      "Efficiency, share, error and bias in %. cuBLAS: its time over the selected tile's "
      "(geometric mean), best/cuB.: over the best tile's.\n"
      "Constants are fitted on the half 'fitted' of the H200's bf16 products, by (n, k); the half "
      "'judged' "
      "and other files judge.\n";
  return out + worst_text(worst);
}

std::string TileReport::worst_text(std::size_t count) const {
  std::vector<const TileJudgement*> judgements;
  for (const Judged& judged : all_) {
    if (judged.model == default_tile_model(GpuVendor::nvidia))
      judgements.push_back(&judged.judgement);
  }
  std::ranges::stable_sort(judgements, {}, &TileJudgement::efficiency);
  std::string out = fmt::format("The worst of {} (predicted | measured, us):\n",
                                default_tile_model(GpuVendor::nvidia));
  const auto described = [](const ProductTile& tile) {
    return fmt::format("{} w{} s{} g{} k{}", tile_text(tile), tile.warps, tile.stages, tile.group_m,
                       tile.split_k);
  };
  for (const TileJudgement* one : std::span(judgements).first(std::min(count, judgements.size()))) {
    const TileTime& best = one->shape->best();
    const double to_us =
        one->predicted * 1e6 / std::max(one->latency.total, 1.0);  // of the machine's cycles
    out += fmt::format(
        "  {} {}x{}x{}: {:.1f} %, selected {} ({:.1f} | {:.1f}, {}), best {} ({:.1f} | {:.1f}, "
        "{})\n",
        one->shape->kind, one->shape->product.m, one->shape->product.n, one->shape->product.k,
        100 * one->efficiency, described(one->picked->tile), one->predicted * 1e6,
        one->picked->time().value() * 1e6, enum_name(one->latency.bottleneck), described(best.tile),
        one->best_latency.total * to_us, best.raced->value() * 1e6,
        enum_name(one->best_latency.bottleneck));
  }
  return out;
}

Value TileReport::json() const {
  ValueArray rows;
  for (const Line& line : lines_) {
    rows.emplace_back(ValueObject{{"model", line.model},
                                  {"class", line.kind},
                                  {"half", line.half},
                                  {"shapes", static_cast<std::int64_t>(line.shapes)},
                                  {"mean", line.mean},
                                  {"median", line.median},
                                  {"p10", line.p10},
                                  {"worst", line.worst},
                                  {"near_best", line.near_best},
                                  {"tau", line.tau},
                                  {"against_cublas", line.against_cublas},
                                  {"best_against_cublas", line.best_against_cublas},
                                  {"error", line.error},
                                  {"bias", line.bias}});
  }
  return ValueObject{{"gpu", file_.gpu},
                     {"dtype", std::string(enum_name(file_.dtype))},
                     {"file", file_.file},
                     {"lines", rows}};
}

}  // namespace foretoken
