#include "calibration/app/kernel_choices.hpp"

#include <fmt/format.h>

#include "calibration/app/tile_choices.hpp"
#include "calibration/app/wave.hpp"
#include "calibration/evaluate/stream_k_report.hpp"
#include "calibration/evaluate/tile_gap_report.hpp"
#include "calibration/evaluate/tile_report.hpp"
#include "calibration/fit/routing_gain.hpp"
#include "calibration/fit/tile_profile_fit.hpp"
#include "calibration/fit/tuning_report.hpp"
#include "calibration/say.hpp"
#include "kernels/tiles/tile_selector.hpp"
#include "sim/base/json.hpp"
#include "sim/base/output_file.hpp"

namespace foretoken {
namespace {

/// The table: a title, then lines of what was chosen, its figure, and figures beside it.
class Choices {
 public:
  void title(std::string text) { text_ += fmt::format("\n{}\n", std::move(text)); }

  /// `name` and `value` for machines; `figure` is the value as people write it.
  void add(const std::string& name, double value, const std::string& what,
           const std::string& figure, const std::string& beside = "") {
    value_.set(name, value);
    text_ += fmt::format("  {:44} {:>8}{}{}\n", what, figure, beside.empty() ? "" : "  ", beside);
  }

  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] const Value& value() const { return value_; }

 private:
  std::string text_;
  Value value_;
};

std::string tenths(double share) { return fmt::format("{:.1f} %", 100 * share); }
std::string hundredths(double share) { return fmt::format("{:.2f} %", 100 * share); }
std::string times(double ratio) { return fmt::format("{:.2f}x", ratio); }

void add_tiles(const std::vector<TileTimes>& files, Choices& choices) {
  const std::string model(default_tile_model(GpuVendor::nvidia));
  choices.title("tile of a Triton GEMM, by our model (share of the best tile's speed)");
  for (const TileTimes& file : files) {
    const TileReport report(file);
    const bool is_fitted = file.file == fitted_tile_table;
    const TileReport::Line* line = report.find(model, "all", is_fitted ? "judged" : "all");
    if (line == nullptr) continue;
    const std::string machine = fmt::format("{} {}", file.gpu, enum_name(file.dtype));
    choices.add(fmt::format("tile {}", machine), line->mean,
                fmt::format("{}, {}", machine, is_fitted ? "held-out layers" : "nothing fitted"),
                tenths(line->mean), fmt::format("worst {}", tenths(line->worst)));
  }
  for (const TileTimes& file : files) {
    if (file.file != fitted_tile_table) continue;
    choices.title("speed of these GEMMs, cuBLAS = 1 (held-out layers)");
    const TileGapReport gaps(file);
    for (const TileGapReport::Line& line : gaps.lines()) {
      std::string beside;
      for (const auto& [kind, speed] : line.speeds) {
        if (kind != "all") beside += fmt::format("{} {:.2f}  ", kind, speed);
      }
      if (!beside.empty()) beside.resize(beside.size() - 2);
      const double all = line.speeds.at("all");
      choices.add("speed " + line.name, all, line.what, fmt::format("{:.2f}", all), beside);
    }
  }
}

void add_grids(const StreamKReport& report, Choices& choices) {
  const StreamKReport::Line* judged = report.find("cheapest", "judged");
  const StreamKReport::Line* split = report.find("cheapest", "split");
  const StreamKReport::Line* plain = report.find("(plain, split as selected)", "split");
  if (judged == nullptr || split == nullptr || plain == nullptr) return;
  choices.title(
      "Stream-K's grid, by our policy (time over that of one CTA per tile, held-out layers)");
  choices.add("stream_k", judged->mean, "all", fmt::format("{:.3f}", judged->mean),
              fmt::format("{:.3f} over the best grid", judged->over_best));
  choices.add("stream_k split", split->mean, "where split-K wins",
              fmt::format("{:.3f}", split->mean),
              fmt::format("split-K, as selected, {:.3f}", plain->mean));
}

void add_library_tiles(Choices& choices) {
  choices.title("cuBLAS's own tile on an H200, by voting trees (exact tile, held-out layers)");
  for (const std::string format : {"bf16", "fp8"}) {
    const TileScore held_out = score_tile_profile(
        fmt::format("calibration/datasets/h200/gemm_{}.csv.gz", format),
        fmt::format("calibration/datasets/h100/cublas_choices_{}.csv.gz", format));
    choices.add("cublas " + format, held_out.tile, format, tenths(held_out.tile),
                fmt::format("same tile size and waves {}", tenths(held_out.same_rounds)));
  }
}

/// Regret of configurations of a layer of experts, each point held out once, and what choosing by
/// the routing gains.
void add_experts(const std::string& name, const std::string& title, const EvaluateWave& command,
                 Choices& choices) {
  const MoeGrid grid = wave_grid(command);
  const auto folds = wave_folds(grid, WaveSplit::folds);
  const WaveJudgement fitted = judge_wave(grid, folds, two_level(command.options, false));
  const auto add = [&](const std::string& of, const std::string& what, const WaveScore& score) {
    choices.add(fmt::format("{} {}", name, of), score.regret, what, hundredths(score.regret),
                fmt::format("at most {}", tenths(score.regret_max)));
  };
  choices.title(title);
  add("regret", "points of profiled layers", fitted.scores.back());
  add("unseen", "unprofiled layers",
      judge_wave(grid, folds, two_level(command.options, true)).scores.back());
  add("specification", "from the specification, among all",
      judge_wave(grid, folds, analytic_method()).scores.back());
  add("advised", "the same, among those that regions advise",
      judge_wave(grid, folds, advised(analytic_method())).scores.back());
  const RoutingGains gains = routing_gains(grid, fitted);
  constexpr double uneven = 0.5;
  const auto half = gains.by_balancedness.find(uneven);
  if (half == gains.by_balancedness.end()) return;
  choices.add(name + " gain", half->second.speedup.value(),
              "routing-aware over static, balancedness 0.5", times(half->second.speedup.value()),
              fmt::format("the measured best {}", times(half->second.oracle.value())));
}

void add_tuning(Choices& choices) {
  const TuningSummary tuned = TuningReport(load_moe_grid(default_tuning)).below_ceiling();
  choices.title(fmt::format(
      "{} MoE layers below their ceiling on an H100, configuration from the specification",
      tuned.layers));
  choices.add("tuned gap", tuned.chosen_gap, "gap to the ceiling",
              fmt::format("{:.3f}", tuned.chosen_gap),
              fmt::format("before {:.3f}, the measured best {:.3f}", tuned.gap, tuned.best_gap));
  choices.add(
      "tuned gain", tuned.gained, "gained", times(tuned.gained),
      fmt::format("promised {}, the measured best {}", times(tuned.promised), times(tuned.best)));
}

}  // namespace

int evaluate_choices(const EvaluateChoices& command) {
  Choices choices;
  add_tiles(load_tile_times(command.datasets.own), choices);
  add_grids(StreamKReport(load_stream_k_times(command.datasets.own)), choices);
  add_library_tiles(choices);
  add_experts("experts",
              "MoE configuration in seven launches, H200 fp8 (excess over the best time)", {},
              choices);
  EvaluateWave one_launch;
  one_launch.data = {"calibration/datasets/h200/moe_grid_one_launch_fp8.csv.gz"};
  add_experts("one_launch", "the same in one launch, as RaMP's kernel", one_launch, choices);
  add_tuning(choices);
  say("{}", choices.text().substr(1));
  if (!command.json.empty()) write_file(command.json, to_json(choices.value()) + "\n");
  return 0;
}

}  // namespace foretoken
