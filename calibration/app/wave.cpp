// foretoken-calibrate fit wave and evaluate --wave: the wave model of fused mixture-of-experts
// kernels and RaMP's tables.
#include "calibration/app/wave.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "calibration/fit/judge_wave.hpp"
#include "calibration/fit/routing_gain.hpp"
#include "calibration/fit/wave_machine_fit.hpp"
#include "calibration/fit/wave_policies.hpp"
#include "calibration/fit/wave_pool.hpp"
#include "calibration/fit/wave_tables.hpp"
#include "calibration/say.hpp"
#include "sim/base/fingerprint.hpp"
#include "sim/base/nearest_name.hpp"
#include "sim/base/output_file.hpp"

namespace foretoken {
namespace {

constexpr std::string_view default_data = "calibration/datasets/h200/moe_grid_fp8.csv.gz";
const std::vector<std::string> default_refined = {
    "calibration/datasets/h200/moe_contenders_fp8.csv.gz",
    "calibration/datasets/h200/moe_contenders_fp8_repeat.csv.gz",
    "calibration/datasets/h200/moe_contenders_fp8_wide.csv.gz"};
/// Batch sizes between powers of two, which the grids have none of.
constexpr std::string_view default_between = "calibration/datasets/h200/moe_configurations.csv.gz";
constexpr int utilisation_samples = 300;  // as Figure 3

MoeGrid load_grids(const std::vector<std::string>& paths) {
  MoeGrid grid = load_moe_grid(paths.front());
  for (std::size_t i = 1; i < paths.size(); ++i) append(grid, load_moe_grid(paths[i]));
  return grid;
}

std::vector<MoeGrid> load_passes(const std::vector<std::string>& paths) {
  std::vector<MoeGrid> passes;
  for (const std::string& path : paths) passes.push_back(load_moe_grid(path));
  return passes;
}

std::string hash_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  return fmt::format("{:016x}", Fingerprint().add(bytes).value());
}

double percent(double share) { return std::round(share * 1e4) / 100; }

}  // namespace

int fit_wave(const FitWave& command) {
  MoeGrid grid = load_grids(command.data);
  refine(grid, load_passes(command.refined));
  PointIndices all(grid.points.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  WaveProfile profile = fit_wave_profile(grid, all, command.options);
  const auto folds = wave_folds(grid, WaveSplit::folds);
  const WaveScore own = judge_wave(grid, folds, two_level(command.options, false)).scores.back();
  const WaveScore any = judge_wave(grid, folds, two_level(command.options, true)).scores.back();
  profile.error_layer = own.time_error;
  profile.error_any = any.time_error;
  ValueArray files;
  std::vector<std::string> paths = command.data;
  paths.insert(paths.end(), command.refined.begin(), command.refined.end());
  for (const std::string& path : paths) {
    files.emplace_back(ValueObject{{"file", std::filesystem::path(path).filename().string()},
                                   {"hash", hash_of(path)}});
  }
  const std::string out = command.out.empty() ? fmt::format("calibration/artifacts/wave/{}_{}.json",
                                                            profile.gpu, enum_name(profile.dtype))
                                              : command.out;
  const ValueObject provenance = {{"made_by", "foretoken-calibrate fit wave"},
                                  {"data", files},
                                  {"points", static_cast<std::int64_t>(grid.points.size())},
                                  {"any_ridge", command.options.any_ridge},
                                  {"own_ridge", command.options.own_ridge},
                                  {"contender_margin", command.options.contender_margin},
                                  {"held_out_regret_percent", percent(own.regret)},
                                  {"held_out_regret_max_percent", percent(own.regret_max)},
                                  {"unseen_layer_regret_percent", percent(any.regret)},
                                  {"unseen_layer_regret_max_percent", percent(any.regret_max)}};
  write_file(out, write_wave_profile(profile, provenance));
  say("{} points of {} layers, {} configurations ({} ever near the best) -> {}\n"
      "each point held out once: regret {:.2f} % (at most {:.1f}), times {:.1f} % off\n"
      "each layer held out:      regret {:.2f} % (at most {:.1f}), times {:.1f} % off\n",
      grid.points.size(), architectures_of(grid).size(), grid.tiles.size(),
      profile.any_layer.size(), out, 100 * own.regret, 100 * own.regret_max, 100 * own.time_error,
      100 * any.regret, 100 * any.regret_max, 100 * any.time_error);
  return 0;
}

int fit_wave_machine(const FitWaveMachine& command) {
  std::vector<MoeGrid> grids;
  for (const std::string& path : command.data) {
    for (const DType format : {DType::bf16, DType::fp8}) {
      MoeGrid grid = load_moe_grid(path, format);
      if (!grid.points.empty()) grids.push_back(std::move(grid));
    }
  }
  const WaveMachineFit fit = fit_wave_machine(grids);
  say("{} times of {} points: mean |log error| {:.4f}, guessed constants {:.4f}\n", fit.times,
      fit.points, fit.error, fit.guess_error);
  for (const WaveMachine::Field& field : WaveMachine::fields()) {
    say("{} = {:.4g}\n", field.name, fit.machine.*field.member);
  }
  return 0;
}

namespace {

/// What the command names, or the committed grid and its contenders.
EvaluateWave with_defaults(EvaluateWave command) {
  if (!command.data.empty()) return command;
  command.data.emplace_back(default_data);
  if (command.refined.empty()) command.refined = default_refined;
  return command;
}

}  // namespace

MoeGrid wave_grid(const EvaluateWave& command) {
  const EvaluateWave asked = with_defaults(command);
  MoeGrid grid = load_grids(asked.data);
  refine(grid, load_passes(asked.refined));
  return grid;
}

int evaluate_wave(const EvaluateWave& command) {
  const EvaluateWave asked = with_defaults(command);
  std::vector<WaveSplit> splits = {WaveSplit::profiled, WaveSplit::spread, WaveSplit::folds};
  if (!command.split.empty()) {
    const auto split = parse_enum<WaveSplit>(command.split);
    if (!split) {
      const auto& names = EnumNames<WaveSplit>::names;
      throw ConfigError({"--split"}, unknown_name_message("split of --wave", command.split,
                                                          {names.begin(), names.end()}));
    }
    splits = {*split};
  }
  MoeGrid grid = load_grids(asked.data);
  const std::vector<MoeGrid> passes = load_passes(asked.refined);
  if (!passes.empty()) say("{}\n", noise_table(grid, passes.front()));
  for (std::size_t i = 1; i < passes.size(); ++i) {
    say("{}\n", noise_table(passes.front(), passes[i]));
  }
  refine(grid, passes);
  for (const WaveSplit split : splits) {
    say("{}\n", regret_table(grid, split, command.options, command.with_comparators));
    std::fflush(stdout);
  }
  const MoeGrid& between =
      command.data.empty() ? load_moe_grid(std::string(default_between)) : grid;
  say("{}\n", policy_table(between, command.options));
  say("{}\n{}\n{}\n{}\n{}\n{}", speedup_table(grid, command.options), opportunity_table(grid),
      utilisation_table(utilisation_samples), split_k_table(grid), group_m_table(grid),
      pool_table(grid, command.options));
  return 0;
}

}  // namespace foretoken
