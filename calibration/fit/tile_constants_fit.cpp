#include "calibration/fit/tile_constants_fit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "calibration/evaluate/tile_report.hpp"
#include "calibration/fit/pattern_search.hpp"
#include "kernels/tiles/pipelined_tile.hpp"

namespace foretoken {
namespace {

/// One measured candidate: its weight in the error, and its time over the best one's.
struct TimedTile {
  ProductTile tile;
  double log_time, weight, regret;
  bool is_raced;
};

struct FitShape {
  TiledProduct product;
  std::vector<TimedTile> points;
};

struct Problem {
  TileMachine machine;
  std::vector<FitShape> shapes;
};

/// Every candidate near the best, and each tenth of the others: they only have to stay away.
FitShape fit_shape(const TiledShape& shape) {
  constexpr double near = 1.5, regret_max = 1.5;
  FitShape out{shape.product, {}};
  const double best = shape.best().raced->value();
  std::size_t number = 0;
  for (const TileTime& time : shape.tiles) {
    const double ratio = time.time().value() / best;
    if (ratio > near && ++number % 10 != 0) continue;
    out.points.push_back({time.tile, std::log(time.time().value()),
                          ratio < 1.3 ? 1.0
                          : ratio < 2 ? 0.15
                                      : 0.03,
                          std::clamp(ratio - 1, 0.0, regret_max), time.raced.has_value()});
  }
  return out;
}

double predicted_log(const Problem& problem, const FitShape& shape, const TimedTile& point,
                     const TileConstants& constants) {
  return std::log(pipelined_tile(shape.product, point.tile, problem.machine, constants).total /
                  problem.machine.clock);
}

double loss_of(const std::vector<Problem>& problems, const TileConstants& constants) {
  constexpr double sharpness = 60, error_weight = 2, regret_weight = 3, smooth = 0.03;
  double sum = 0;
  std::size_t count = 0;
  std::vector<double> logs;
  for (const Problem& problem : problems) {
    for (const FitShape& shape : problem.shapes) {
      logs.clear();
      double least = std::numeric_limits<double>::infinity();
      for (const TimedTile& point : shape.points) {
        logs.push_back(predicted_log(problem, shape, point, constants));
        least = std::min(least, logs.back());
      }
      double error = 0, weight = 0, regret = 0, share = 0;
      for (std::size_t i = 0; i < shape.points.size(); ++i) {
        const TimedTile& point = shape.points[i];
        error += point.weight * (std::hypot(logs[i] - point.log_time, smooth) - smooth);
        weight += point.weight;
        const double chance = std::exp(-sharpness * (logs[i] - least));
        share += chance;
        regret += chance * point.regret;
      }
      sum += error_weight * error / weight + regret_weight * regret / share;
      ++count;
    }
  }
  return sum / static_cast<double>(count);
}

TileConstants from_numbers(std::span<const double> numbers) {
  TileConstants constants;
  const auto fields = TileConstants::tile_fields();
  for (std::size_t i = 0; i < fields.size(); ++i) constants.*fields[i].member = numbers[i];
  return constants;
}

std::vector<double> to_numbers(const TileConstants& constants) {
  std::vector<double> numbers;
  for (const TileConstants::Field& field : TileConstants::tile_fields()) {
    numbers.push_back(constants.*field.member);
  }
  return numbers;
}

/// The median of measured over predicted, of candidates within a few per cent of the best.
double median_ratio(const std::vector<Problem>& problems, const TileConstants& constants) {
  constexpr double near_best = 0.05;
  std::vector<double> ratios;
  for (const Problem& problem : problems) {
    for (const FitShape& shape : problem.shapes) {
      for (const TimedTile& point : shape.points) {
        if (!point.is_raced || point.regret > near_best) continue;
        ratios.push_back(point.log_time - predicted_log(problem, shape, point, constants));
      }
    }
  }
  std::ranges::nth_element(ratios, ratios.begin() + std::ssize(ratios) / 2);
  return std::exp(ratios[ratios.size() / 2]);
}

/// Both, and the guess with its numbers moved up and down by up to a half in four fixed patterns:
/// a pattern search ends in the valley it begins in.
std::vector<std::vector<double>> starts_around(const std::vector<double>& start,
                                               const std::vector<double>& guess) {
  std::vector<std::vector<double>> starts = {start, guess};
  for (std::size_t pattern = 1; pattern <= 4; ++pattern) {
    std::vector<double> moved = guess;
    for (std::size_t i = 0; i < moved.size(); ++i) {
      moved[i] *= std::pow(1.5, static_cast<double>((i * pattern + i / 3) % 3) - 1);
    }
    starts.push_back(std::move(moved));
  }
  return starts;
}

}  // namespace

TileConstantsFit fit_tile_constants(const std::vector<TileTimes>& files,
                                    const TileConstants& start) {
  std::vector<Problem> problems;
  TileConstantsFit fit;
  for (const TileTimes& file : files) {
    Problem problem{tile_machine(load_gpu(file.gpu, {}), file.dtype), {}};
    for (const TiledShape& shape : file.shapes) {
      if (is_fitted_shape(shape.product)) problem.shapes.push_back(fit_shape(shape));
    }
    fit.shapes += problem.shapes.size();
    problems.push_back(std::move(problem));
  }
  // Constants mean something: one that the data does not ask for stays where it was guessed.
  const std::vector<double> guess = to_numbers(TileConstants{});
  const SearchLoss loss = [&](std::span<const double> numbers) {
    constexpr double stay = 0.001;  // a factor of e from the guess
    double away = 0;
    for (std::size_t i = 0; i < guess.size(); ++i) {
      const double factor = std::log(numbers[i] / guess[i]);
      away += stay * factor * factor;
    }
    return loss_of(problems, from_numbers(numbers)) + away;
  };
  fit.start_loss = loss(to_numbers(start));
  fit.constants = from_numbers(search_from(starts_around(to_numbers(start), guess), loss));
  fit.loss = loss(to_numbers(fit.constants));
  fit.constants.scale *= median_ratio(problems, fit.constants);
  for (const TileConstants::Field& field : TileConstants::stream_k_fields()) {
    fit.constants.*field.member = start.*field.member;
  }
  return fit;
}

}  // namespace foretoken
