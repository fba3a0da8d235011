#include "calibration/fit/stream_k_fit.hpp"

#include "calibration/evaluate/tile_report.hpp"
#include "calibration/fit/pattern_search.hpp"
#include "kernels/tiles/pipelined_tile.hpp"
#include "sim/base/error.hpp"

namespace foretoken {
namespace {

/// A grid that cuts tiles, and what it takes over one that does not.
struct CutGrid {
  const StreamKCase* of;
  std::int64_t grid;
  double ratio;
};

struct Measured {
  TileMachine machine;
  std::vector<CutGrid> grids;
};

double loss_of(const std::vector<Measured>& all, const TileConstants& constants) {
  double sum = 0, count = 0;
  for (const Measured& measured : all) {
    for (const CutGrid& cut : measured.grids) {
      const auto cycles = [&](std::int64_t grid) {
        return stream_k_cycles(cut.of->product, cut.of->tile, grid, measured.machine, constants);
      };
      sum += log_loss(cycles(cut.grid) / cycles(cut.of->tiles()), cut.ratio);
      ++count;
    }
  }
  return sum / count;
}

TileConstants with_numbers(TileConstants constants, std::span<const double> numbers) {
  const auto fields = TileConstants::stream_k_fields();
  for (std::size_t i = 0; i < fields.size(); ++i) constants.*fields[i].member = numbers[i];
  return constants;
}

}  // namespace

StreamKFit fit_stream_k(const std::vector<StreamKTimes>& files, const TileConstants& start) {
  StreamKFit fit;
  std::vector<Measured> all;
  for (const StreamKTimes& file : files) {
    Measured measured{tile_machine(load_gpu(file.gpu, {}), file.dtype), {}};
    for (const StreamKCase& one : file.cases) {
      if (!is_fitted_shape(one.product)) continue;
      ++fit.cases;
      for (const StreamKTime& grid : one.grids) {
        if (grid.grid == one.tiles()) continue;
        measured.grids.push_back({&one, grid.grid, grid.time / one.whole()});
      }
    }
    all.push_back(std::move(measured));
  }
  if (fit.cases == 0) {
    throw ConfigError(
        {"--own"}, "has no times of Stream-K; calibration/measure/stream_k_triton.py writes them");
  }
  const SearchLoss loss = [&](std::span<const double> numbers) {
    return loss_of(all, with_numbers(start, numbers));
  };
  std::vector<double> numbers;
  for (const TileConstants::Field& field : TileConstants::stream_k_fields()) {
    numbers.push_back(start.*field.member);
  }
  fit.start_loss = loss(numbers);
  numbers = pattern_search(std::move(numbers), loss);
  fit.constants = with_numbers(start, numbers);
  fit.loss = loss(numbers);
  return fit;
}

}  // namespace foretoken
