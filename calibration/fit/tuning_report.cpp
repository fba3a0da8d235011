#include "calibration/fit/tuning_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <optional>

#include "calibration/fit/judge_wave.hpp"
#include "calibration/fit/wave_policies.hpp"
#include "kernels/tiles/moe_dispatch.hpp"

namespace foretoken {
namespace {

constexpr double underperforming = 0.1;  // as `foretoken diagnose` counts
constexpr double whole = 0.9;            // share of the pool that a layer must have been timed with
/// The paper's four, then others.
constexpr std::array<std::string_view, 8> other_gpus = {"a40",  "l20",      "a100-sxm", "h800",
                                                        "l40s", "rtx-4090", "h200-sxm", "b200-sxm"};

Kernel kernel_of(const MoeGridPoint& point) {
  FusedMoe kernel;
  kernel.tokens = point.tokens;
  kernel.experts = point.layer.experts;
  kernel.topk = point.topk;
  kernel.hidden = point.layer.hidden;
  kernel.intermediate = point.layer.intermediate;
  kernel.dtype = point.layer.dtype;
  kernel.routing.kind = Routing::Kind::histogram;
  kernel.routing.counts = point.histogram;
  kernel.implementation = {Framework::pytorch, KernelSource::triton, true};
  return kernel;
}

struct Choice {
  std::size_t tile;
  double promised;  // predicted time of the fallback over that of the choice
};

/// By the waves of the GPU's specification, among `tiles`; nullopt if the fallback does not fit it.
std::optional<Choice> choice_of(const MoeGridPoint& point, const GpuSpec& gpu,
                                const std::vector<MoeTile>& tiles, std::size_t fallback,
                                const std::function<bool(std::size_t)>& may_take) {
  MoeDispatcher dispatcher(point.layer, gpu, tiles, {}, DispatchSource{});
  const std::span<const float> times = dispatcher.times_us(point.histogram);
  const auto runs = [&](std::size_t i) {
    return resident_ctas(tiles[i], point.layer.dtype, gpu) > 0 && may_take(i);
  };
  if (!runs(fallback)) return std::nullopt;
  std::size_t chosen = fallback;
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (runs(i) && times[i] < times[chosen]) chosen = i;
  }
  return Choice{chosen, static_cast<double>(times[fallback]) / times[chosen]};
}

double geometric_mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += std::log(value);
  return values.empty() ? 1 : std::exp(sum / static_cast<double>(values.size()));
}

TuningSummary summary_of(const std::vector<TunedLayer>& layers, double gap_min) {
  TuningSummary summary;
  std::vector<double> promised, gained, best;
  for (const TunedLayer& layer : layers) {
    if (layer.gap < gap_min) continue;
    ++summary.layers;
    summary.gap += layer.gap;
    summary.chosen_gap += layer.chosen_gap;
    summary.best_gap += layer.best_gap;
    summary.chosen_below += layer.chosen_gap > underperforming ? 1 : 0;
    summary.best_below += layer.best_gap > underperforming ? 1 : 0;
    promised.push_back(layer.promised);
    gained.push_back(layer.gained);
    best.push_back(layer.best);
  }
  const double count = std::max(1, summary.layers);
  summary.gap /= count;
  summary.chosen_gap /= count;
  summary.best_gap /= count;
  summary.promised = geometric_mean(promised);
  summary.gained = geometric_mean(gained);
  summary.best = geometric_mean(best);
  return summary;
}

const std::array<std::pair<const char*, double>, 2> groups = {
    {{"below their ceiling here", underperforming}, {"all that were timed", -1e9}}};

ValueObject summary_value(const TuningSummary& summary) {
  return {{"layers", summary.layers},
          {"gap", summary.gap},
          {"chosen_gap", summary.chosen_gap},
          {"best_gap", summary.best_gap},
          {"chosen_below", summary.chosen_below},
          {"best_below", summary.best_below},
          {"promised", summary.promised},
          {"gained", summary.gained},
          {"best", summary.best}};
}

PromisedGain promised_on(const std::string& name, const MoeGrid& grid,
                         const std::vector<TunedLayer>& layers) {
  const GpuSpec gpu = load_gpu(name, {});
  PromisedGain gain{name, 0, 1, 1};
  std::vector<double> promises;
  for (const TunedLayer& layer : layers) {
    const std::optional<std::size_t> fallback = fallback_tile(grid, *layer.point);
    const auto is_timed = [&](std::size_t i) { return !std::isnan(layer.point->times_us[i]); };
    const auto choice = choice_of(*layer.point, gpu, grid.tiles, *fallback, is_timed);
    if (!choice) continue;
    promises.push_back(choice->promised);
    gain.most = std::max(gain.most, choice->promised);
  }
  gain.layers = static_cast<int>(promises.size());
  gain.mean = geometric_mean(promises);
  return gain;
}

}  // namespace

TuningReport::TuningReport(const MoeGrid& grid, const Ceilings& ceilings)
    : gpu_(grid.gpu), source_(grid.source) {
  const GpuSpec gpu = load_gpu(grid.gpu, {grid.source});
  const auto timed = [](const MoeGridPoint& point) {
    return static_cast<std::size_t>(
        std::ranges::count_if(point.times_us, [](double time) { return !std::isnan(time); }));
  };
  for (const MoeGridPoint& point : grid.points) {
    configurations_ = std::max(configurations_, timed(point));
  }
  for (const MoeGridPoint& point : grid.points) {
    const std::optional<std::size_t> fallback = fallback_tile(grid, point);
    if (!fallback || std::isnan(point.times_us[*fallback])) continue;
    if (static_cast<double>(timed(point)) < whole * static_cast<double>(configurations_)) continue;
    const std::optional<Ceiling> ceiling = ceilings.find(kernel_of(point), gpu);
    const auto choice = choice_of(point, gpu, grid.tiles, *fallback,
                                  [&](std::size_t i) { return !std::isnan(point.times_us[i]); });
    if (!ceiling || !choice) continue;
    const auto gap = [&](double us) { return performance_gap(*ceiling, Seconds(us * 1e-6)).gap(); };
    const double before = point.times_us[*fallback], chosen = point.times_us[choice->tile],
                 best = point.times_us[best_tile(point)];
    layers_.push_back({&point, gap(before), gap(chosen), gap(best), choice->promised,
                       before / chosen, before / best});
  }
  if (layers_.empty()) {
    throw ConfigError({grid.source},
                      "holds no layer with frameworks' fallback among its configurations: measure "
                      "with calibration/measure/moe_tuning_triton.py");
  }
  for (const std::string_view name : other_gpus) {
    if (name == gpu_) continue;
    elsewhere_.push_back(promised_on(std::string(name), grid, layers_));
  }
}

TuningSummary TuningReport::below_ceiling() const { return summary_of(layers_, underperforming); }

std::string TuningReport::text() const {
  std::string text = fmt::format(
      "Tuning by block sizes, stages and warps on {}: {} layers x {} configurations\n"
      "gap: ceiling - efficiency, mean; choice: the wave model's, from the specification alone;\n"
      "speed-up over frameworks' fallback, geometric mean\n\n"
      "{:26}{:>7}{:>24}{:>23}\n{:26}{:>7}{:>9}{:>7}{:>8}{:>9}{:>7}{:>7}\n",
      gpu_, layers_.size(), configurations_, "", "", "gap", "speed-up", "", "layers", "fallback",
      "choice", "best", "promised", "choice", "best");
  for (const auto& [name, gap_min] : groups) {
    const TuningSummary s = summary_of(layers_, gap_min);
    text += fmt::format("{:26}{:>7}{:>9.3f}{:>7.3f}{:>8.3f}{:>8.2f}x{:>6.2f}x{:>6.2f}x\n", name,
                        s.layers, s.gap, s.chosen_gap, s.best_gap, s.promised, s.gained, s.best);
    text += fmt::format("  {} of them still are with the choice, {} with the best\n",
                        s.chosen_below, s.best_below);
  }
  text += "\nThe same layers elsewhere, by the model alone\n";
  for (const PromisedGain& gain : elsewhere_) {
    text += fmt::format("  {:16} {:4} layers {:6.2f}x, at most {:.2f}x\n", gain.gpu, gain.layers,
                        gain.mean, gain.most);
  }
  return text;
}

Value TuningReport::json() const {
  ValueObject root = {{"gpu", gpu_},
                      {"data", source_},
                      {"configurations", static_cast<std::int64_t>(configurations_)}};
  root.emplace_back("below", summary_value(below_ceiling()));
  root.emplace_back("all", summary_value(summary_of(layers_, groups[1].second)));
  ValueObject elsewhere;
  for (const PromisedGain& gain : elsewhere_) {
    elsewhere.emplace_back(
        gain.gpu,
        ValueObject{{"layers", gain.layers}, {"promised", gain.mean}, {"most", gain.most}});
  }
  root.emplace_back("elsewhere", std::move(elsewhere));
  return root;
}

}  // namespace foretoken
