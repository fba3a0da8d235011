// Times of all configurations of a pool for one histogram. The model is linear in numbers of the
// step but for its waves and logarithms, which configurations with the same grid share: so those
// are computed once a grid, and the rest is a matrix of constants times a few numbers for each
// height.
#include "kernels/tiles/moe_dispatch.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <map>
#include <numeric>
#include <tuple>

#include "kernels/tiles/moe_region.hpp"
#include "kernels/tiles/wave_analytic.hpp"

namespace foretoken {
namespace {

/// Batch sizes of vLLM's benchmark_moe.py, which wrote most of its tuned tables.
constexpr auto tuner_batches = std::to_array<std::int64_t>(
    {1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 256, 512, 1024, 1536, 2048, 3072, 4096});

std::int64_t power_below(std::int64_t tokens) {
  return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(tokens)));
}

std::vector<MoeTile> pool_for(const GpuSpec& gpu, DType dtype) {
  if (gpu.tensor_ops_per_cycle_sm[static_cast<std::size_t>(dtype)] <= 0) {
    throw PredictionError(fmt::format("{} has no tensor path for {}", gpu.name, enum_name(dtype)));
  }
  MoePoolOptions options = measured_pool_options();
  options.stages = {2, 3, 4};  // parts with less shared memory want fewer
  return moe_tiles(options, dtype, gpu);
}

/// Of the profile's GPU: its tiles were counted against its specification.
int resident_of(const MoeTile& tile, DType dtype, const GpuSpec& gpu) {
  return std::max(1, resident_ctas(tile, dtype, gpu));
}

}  // namespace

/// Constants folded for the layer, by tile (rows) and number (columns).
struct MoeDispatcher::Linear {
  static constexpr int step_numbers = 9;  // of a height: linear ones
  static constexpr int grid_numbers = 4;  // of a grid: wave_steps, waves, sm_steps, log_grid

  struct Block {  // tiles of a height
    std::size_t height = 0;
    Eigen::Index begin = 0, size = 0;
  };
  struct Grid {
    std::size_t height = 0;
    const TiledLayer* tiled = nullptr;
    std::size_t log = 0;  // index into logs: grids of as many CTAs share it
    double sm_steps = 0;  // of the step at hand
  };
  struct Spread {  // a grid in groups of row tiles
    std::size_t grid = 0;
    std::size_t rows = 0;  // index into grouped_rows
  };

  Eigen::Matrix<float, Eigen::Dynamic, step_numbers> by_step;
  Eigen::Array<float, Eigen::Dynamic, grid_numbers> by_grid;
  std::vector<Block> blocks;
  std::vector<Grid> grids;
  std::vector<const TiledLayer*> grouped;  // a tile of each height and group
  std::vector<std::size_t> grouped_height;
  std::vector<double> grouped_rows;  // spread_rows() of the step at hand
  std::vector<Spread> spreads;
  std::vector<std::size_t> spread_of;  // a row; 0 = in no groups
  std::vector<float> spread_values;    // spread_steps of the step at hand, after a 0
  Eigen::ArrayXf by_spread;            // us of one, by row
  std::vector<const Grid*> log_of;     // a grid of each logarithm
  std::vector<float> logs;             // of the step at hand
  std::vector<std::size_t> grid_of;    // a row
  std::vector<std::array<float, grid_numbers>> grid_values;      // of the step at hand
  Eigen::Array<float, Eigen::Dynamic, grid_numbers> row_values;  // the same by row
  Eigen::ArrayXf row_spreads;
  std::vector<std::size_t> tile_of;  // a row
  Eigen::VectorXf row_times;

  // The residual: profiled steps' traits by trait (columns), weights by row (rows).
  Eigen::Array<float, Eigen::Dynamic, Eigen::Dynamic> profiled;
  Eigen::ArrayXf likenesses;
  Eigen::MatrixXf weights;

  Linear(const MoeLayer& layer, std::span<const WaveConstants> constants,
         std::span<const std::size_t> height_of, std::span<const TiledLayer> tiled,
         const WaveResidual& residual);

  void set_residual(const WaveResidual& residual);
  void add_residual(const RoutedStep& step);
};

void MoeDispatcher::Linear::set_residual(const WaveResidual& residual) {
  FORETOKEN_CHECK(residual.weights.size() == tile_of.size(), "weights of {} tiles, not {}",
                  residual.weights.size(), tile_of.size());
  const auto steps = static_cast<Eigen::Index>(residual.steps.size());
  profiled.resize(steps, static_cast<Eigen::Index>(StepTraits().size()));
  weights.resize(row_times.size(), steps);
  for (Eigen::Index step = 0; step < steps; ++step) {
    const StepTraits& traits = residual.steps[static_cast<std::size_t>(step)];
    for (std::size_t i = 0; i < traits.size(); ++i) {
      profiled(step, static_cast<Eigen::Index>(i)) = static_cast<float>(traits[i]);
    }
    for (Eigen::Index row = 0; row < weights.rows(); ++row) {
      const auto& mine = residual.weights[tile_of[static_cast<std::size_t>(row)]];
      weights(row, step) = static_cast<float>(mine[static_cast<std::size_t>(step)]);
    }
  }
}

/// likeness() of all profiled steps at once.
void MoeDispatcher::Linear::add_residual(const RoutedStep& step) {
  const StepTraits traits = step_traits(step);
  likenesses.setZero(profiled.rows());
  for (std::size_t i = 0; i < traits.size(); ++i) {
    likenesses +=
        (profiled.col(static_cast<Eigen::Index>(i)) - static_cast<float>(traits[i])).square();
  }
  const auto scale =
      static_cast<float>(-1 / (likeness_length * std::sqrt(static_cast<double>(traits.size()))));
  // Not Eigen's sqrt: its packets start from the CPU's estimate of 1/sqrt, which differs by maker.
  likenesses =
      (likenesses.unaryExpr([](float squares) { return std::sqrt(squares); }) * scale).exp();
  row_times.array() *= (weights * likenesses.matrix()).array().exp();
}

MoeDispatcher::Linear::Linear(const MoeLayer& layer, std::span<const WaveConstants> constants,
                              std::span<const std::size_t> height_of,
                              std::span<const TiledLayer> tiled, const WaveResidual& residual) {
  for (std::size_t i = 0; i < constants.size(); ++i) tile_of.push_back(i);
  std::ranges::stable_sort(tile_of, {}, [&](std::size_t i) { return height_of[i]; });
  const auto rows = static_cast<Eigen::Index>(constants.size());
  by_step.resize(rows, step_numbers);
  by_grid.resize(rows, grid_numbers);
  row_values.resize(rows, grid_numbers);
  by_spread.resize(rows);
  row_spreads.resize(rows);
  row_times.resize(rows);
  std::map<std::tuple<std::size_t, double, double, double, double, double>, std::size_t> known;
  std::map<std::tuple<std::size_t, double>, std::size_t> known_spreads, known_groups;
  std::map<std::tuple<std::size_t, double>, std::size_t> known_logs;
  for (Eigen::Index row = 0; row < rows; ++row) {
    const std::size_t i = tile_of[static_cast<std::size_t>(row)];
    const TiledLayer& t = tiled[i];
    if (blocks.empty() || blocks.back().height != height_of[i]) {
      blocks.push_back({height_of[i], row, 0});
    }
    ++blocks.back().size;
    const auto [found, is_new] = known.try_emplace(
        {height_of[i], t.gate_up_tiles, t.gate_up_depth, t.down_depth, t.split, t.slots},
        grids.size());
    if (is_new) {
      const auto log =
          known_logs.try_emplace({height_of[i], t.gate_up_tiles * t.split}, known_logs.size())
              .first->second;
      grids.push_back({height_of[i], &t, log, 0});
    }
    grid_of.push_back(found->second);
    spread_of.push_back(0);
    if (t.group > 1) {
      const auto [same, is_first] =
          known_spreads.try_emplace({found->second, t.group}, spreads.size());
      const auto [group, is_new_group] =
          known_groups.try_emplace({height_of[i], t.group}, grouped.size());
      if (is_new_group) {
        grouped.push_back(&t);
        grouped_height.push_back(height_of[i]);
      }
      if (is_first) spreads.push_back({found->second, group->second});
      spread_of.back() = same->second + 1;
    }
    const auto us = [&](WaveTerm term) { return constants[i].us[static_cast<std::size_t>(term)]; };
    const double steps = t.steps_a_row();
    const auto elements = static_cast<double>(2 * layer.hidden + 6 * layer.intermediate);
    by_step.row(row) = Eigen::Matrix<double, 1, step_numbers>(
                           us(WaveTerm::start), us(WaveTerm::weights) * layer.weight_bytes(),
                           us(WaveTerm::tile_steps) * steps, us(WaveTerm::beyond_2) * steps,
                           us(WaveTerm::beyond_4) * steps, us(WaveTerm::beyond_8) * steps,
                           us(WaveTerm::longest) * (t.gate_up_depth + t.down_depth),
                           us(WaveTerm::activations) * elements + us(WaveTerm::assignments),
                           us(WaveTerm::log_active))
                           .cast<float>();
    by_grid.row(row) = Eigen::Array<double, 1, grid_numbers>(
                           us(WaveTerm::wave_steps), us(WaveTerm::waves), us(WaveTerm::sm_steps),
                           us(WaveTerm::log_grid) + us(WaveTerm::log_steps) * t.gate_up_depth)
                           .cast<float>();
    by_spread[row] = static_cast<float>(us(WaveTerm::spread_steps));
  }
  grid_values.resize(grids.size());
  spread_values.assign(spreads.size() + 1, 0);
  grouped_rows.resize(grouped.size());
  logs.resize(known_logs.size());
  log_of.resize(known_logs.size());
  for (const Grid& grid : grids) log_of[grid.log] = &grid;
  if (!residual.empty()) set_residual(residual);
}

MoeDispatcher::MoeDispatcher(const MoeLayer& layer, const GpuSpec& gpu, MoePool pool)
    : layer_(layer), gpu_(gpu) {
  if (const WaveProfile* profile = find_wave_profile(gpu, layer.dtype)) {
    *this = MoeDispatcher(layer, gpu, *profile);
    return;
  }
  const std::vector<MoeTile> all = pool_for(gpu, layer.dtype);
  *this = MoeDispatcher(
      layer, gpu, pool == MoePool::whole ? all : advised_pool(all, layer_advice(layer, {}, gpu)),
      {}, {});
  whole_pool_ = all.size();
}

MoeDispatcher::MoeDispatcher(const MoeLayer& layer, const GpuSpec& gpu, const WaveProfile& profile)
    : layer_(layer), gpu_(gpu) {
  const LayerConstants* own = profile.find(layer);
  const DispatchSource source =
      own != nullptr ? DispatchSource{Origin::measured, own->name, profile.error_layer}
                     : DispatchSource{Origin::learned, "", profile.error_any};
  const auto& constants = own != nullptr ? own->contenders : profile.any_layer;
  std::vector<MoeTile> tiles;
  for (const WaveConstants& of_tile : constants) {
    tiles.push_back(profile.tiles[static_cast<std::size_t>(of_tile.tile)]);
  }
  *this = MoeDispatcher(layer, gpu, tiles, constants, source,
                        own != nullptr ? own->residual : WaveResidual());
  whole_pool_ = profile.tiles.size();
}

MoeDispatcher::MoeDispatcher(const MoeLayer& layer, const GpuSpec& gpu,
                             std::span<const MoeTile> tiles,
                             std::span<const WaveConstants> constants, DispatchSource source,
                             const WaveResidual& residual)
    : layer_(layer),
      gpu_(gpu),
      source_(std::move(source)),
      tiles_(tiles.begin(), tiles.end()),
      whole_pool_(tiles.size()),
      times_(tiles.size()) {
  FORETOKEN_CHECK(!tiles.empty() && (constants.empty() || constants.size() == tiles.size()),
                  "{} tiles, {} sets of constants", tiles.size(), constants.size());
  if (!residual.empty()) heights_.assign(trait_heights.begin(), trait_heights.end());
  for (const MoeTile& tile : tiles_) {
    auto found = std::ranges::find(heights_, tile.block_m);
    if (found == heights_.end()) found = heights_.insert(found, tile.block_m);
    height_of_.push_back(static_cast<std::size_t>(found - heights_.begin()));
    tiled_.emplace_back(layer_, tile, resident_of(tile, layer_.dtype, gpu_), gpu_.sm_count);
  }
  if (!constants.empty()) {
    linear_ = std::make_unique<Linear>(layer_, constants, height_of_, tiled_, residual);
  }
}

MoeDispatcher::~MoeDispatcher() = default;
MoeDispatcher::MoeDispatcher(MoeDispatcher&&) noexcept = default;
MoeDispatcher& MoeDispatcher::operator=(MoeDispatcher&&) noexcept = default;

std::span<const float> MoeDispatcher::linear_times(const RoutedStep& step) {
  Linear& linear = *linear_;
  for (std::size_t i = 0; i < linear.logs.size(); ++i) {
    const auto& grid = *linear.log_of[i];
    linear.logs[i] = static_cast<float>(log_grid(*grid.tiled, step.at(grid.height).tiles));
  }
  for (std::size_t i = 0; i < linear.grids.size(); ++i) {
    auto& grid = linear.grids[i];
    const WaveCounts counts = wave_counts(*grid.tiled, step.at(grid.height).tiles);
    grid.sm_steps = counts.sm_steps;
    linear.grid_values[i] = {static_cast<float>(counts.wave_steps),
                             static_cast<float>(counts.waves), static_cast<float>(counts.sm_steps),
                             linear.logs[grid.log]};
  }
  for (std::size_t i = 0; i < linear.grouped.size(); ++i) {
    linear.grouped_rows[i] = spread_rows(
        *linear.grouped[i], step.at(linear.grouped_height[i]).tiles, step.assignments());
  }
  for (std::size_t i = 0; i < linear.spreads.size(); ++i) {
    const auto& grid = linear.grids[linear.spreads[i].grid];
    linear.spread_values[i + 1] = static_cast<float>(
        sm_steps(*grid.tiled, linear.grouped_rows[linear.spreads[i].rows]) - grid.sm_steps);
  }
  for (std::size_t row = 0; row < linear.grid_of.size(); ++row) {
    const auto& values = linear.grid_values[linear.grid_of[row]];
    const auto at = static_cast<Eigen::Index>(row);
    for (Eigen::Index k = 0; k < Linear::grid_numbers; ++k) {
      linear.row_values(at, k) = values[static_cast<std::size_t>(k)];
    }
    linear.row_spreads[at] = linear.spread_values[linear.spread_of[row]];
  }
  linear.row_times =
      ((linear.row_values * linear.by_grid).rowwise().sum() + linear.row_spreads * linear.by_spread)
          .matrix();
  const auto log_active = static_cast<float>(std::log(step.active() + 1));
  for (const Linear::Block& block : linear.blocks) {
    const RowTiles& rows = step.at(block.height);
    Eigen::Matrix<float, Linear::step_numbers, 1> numbers;
    numbers << 1, static_cast<float>(step.active()), static_cast<float>(rows.tiles),
        static_cast<float>(rows.beyond_2), static_cast<float>(rows.beyond_4),
        static_cast<float>(rows.beyond_8), static_cast<float>(rows.longest),
        static_cast<float>(step.assignments()), log_active;
    linear.row_times.segment(block.begin, block.size).noalias() +=
        linear.by_step.middleRows(block.begin, block.size) * numbers;
  }
  if (linear.weights.size() > 0) linear.add_residual(step);
  for (std::size_t row = 0; row < linear.tile_of.size(); ++row) {
    times_[linear.tile_of[row]] = linear.row_times[static_cast<Eigen::Index>(row)];
  }
  return times_;
}

std::span<const float> MoeDispatcher::times_us(std::span<const std::int64_t> histogram) {
  FORETOKEN_CHECK(static_cast<int>(histogram.size()) == layer_.experts,
                  "a histogram of {} for {} experts", histogram.size(), layer_.experts);
  const RoutedStep step(histogram, heights_);
  FORETOKEN_CHECK(step.assignments() > 0, "a histogram without any assignment");
  if (linear_ != nullptr) return linear_times(step);
  for (std::size_t i = 0; i < tiles_.size(); ++i) {
    times_[i] = static_cast<float>(
        analytic_wave_us(layer_, tiles_[i], tiled_[i], step, height_of_[i], gpu_));
  }
  return times_;
}

std::size_t MoeDispatcher::choose(std::span<const std::int64_t> histogram) {
  const auto times = times_us(histogram);
  return static_cast<std::size_t>(std::ranges::min_element(times) - times.begin());
}

std::vector<std::int64_t> even_histogram(std::int64_t assignments, int experts) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(experts), assignments / experts);
  const auto extra = static_cast<std::ptrdiff_t>(assignments % experts);
  std::for_each(counts.begin(), counts.begin() + extra, [](std::int64_t& count) { ++count; });
  return counts;
}

std::int64_t tuned_tokens(DispatchPolicy policy, std::int64_t tokens) {
  FORETOKEN_CHECK(tokens > 0, "a step of {} tokens", tokens);
  if (policy == DispatchPolicy::routing_aware) return tokens;
  if (policy == DispatchPolicy::fixed) {
    return *std::ranges::min_element(tuner_batches, {},
                                     [&](std::int64_t batch) { return std::abs(batch - tokens); });
  }
  const std::int64_t below = power_below(tokens);
  return tokens - below <= 2 * below - tokens ? below : 2 * below;
}

std::int64_t finer_bucket(std::int64_t tokens) {
  FORETOKEN_CHECK(tokens > 0, "a step of {} tokens", tokens);
  if (tokens < 3) return tokens;
  const std::int64_t below = power_below(tokens), between = below + below / 2;
  if (tokens <= between) return tokens - below <= between - tokens ? below : between;
  return tokens - between <= 2 * below - tokens ? between : 2 * below;
}

std::size_t tuned_choice(MoeDispatcher& dispatcher, std::span<const std::int64_t> histogram,
                         std::int64_t tokens, std::int64_t tuned) {
  const std::int64_t assignments =
      std::accumulate(histogram.begin(), histogram.end(), std::int64_t{0});
  const double scaled =
      static_cast<double>(assignments) * static_cast<double>(tuned) / static_cast<double>(tokens);
  return dispatcher.choose(even_histogram(std::max<std::int64_t>(1, std::llround(scaled)),
                                          static_cast<int>(histogram.size())));
}

std::size_t dispatched(MoeDispatcher& dispatcher, DispatchPolicy policy,
                       std::span<const std::int64_t> histogram, std::int64_t tokens) {
  if (policy == DispatchPolicy::routing_aware) return dispatcher.choose(histogram);
  return tuned_choice(dispatcher, histogram, tokens, tuned_tokens(policy, tokens));
}

}  // namespace foretoken
