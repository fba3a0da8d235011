#include "calibration/fit/wave_laws_fit.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "kernels/tasks/decomposition.hpp"

namespace foretoken {
namespace {

/// Fewer launches than this have no law of their own.
constexpr std::size_t rows_min = 40;
/// A GPU's constants are held to those of all GPUs as if so many rows spoke for these.
constexpr double prior_rows = 10;
constexpr int reweightings = 12;
constexpr int sweeps = 200;
/// Errors below this weigh alike.
constexpr double error_floor = 0.02;

using WaveTimes = std::array<double, wave_column_count>;

/// A measured launch: its columns over its time, so that all launches count alike.
struct Launched {
  std::string gpu;
  Implementation implementation;
  WaveTimes columns;
};
using Launches = std::vector<const Launched*>;

double answer(const WaveTimes& constants, const WaveTimes& columns) {
  double sum = 0;
  for (std::size_t i = 0; i < wave_column_count; ++i) sum += constants[i] * columns[i];
  return sum;
}

/// Weighted least squares of answer = 1 with constants of 0 or more, one constant at a time.
class Squares {
 public:
  void add(const WaveTimes& x, double weight) {
    for (std::size_t i = 0; i < wave_column_count; ++i) {
      right_[i] += weight * x[i];
      for (std::size_t j = 0; j < wave_column_count; ++j) square_[i][j] += weight * x[i] * x[j];
    }
  }

  /// As if rows of average size, `share` of those that were added, had `prior` for an answer.
  void hold_to(const WaveTimes& prior, double share) {
    for (std::size_t i = 0; i < wave_column_count; ++i) {
      const double more = share * square_[i][i];
      square_[i][i] += more;
      right_[i] += more * prior[i];
    }
  }

  [[nodiscard]] WaveTimes solve(WaveTimes constants) const {
    for (int sweep = 0; sweep < sweeps; ++sweep) {
      for (std::size_t i = 0; i < wave_column_count; ++i) {
        if (!(square_[i][i] > 0)) {
          constants[i] = 0;  // nothing to count
          continue;
        }
        double rest = right_[i];
        for (std::size_t j = 0; j < wave_column_count; ++j) {
          if (j != i) rest -= square_[i][j] * constants[j];
        }
        constants[i] = std::max(0.0, rest / square_[i][i]);
      }
    }
    return constants;
  }

 private:
  std::array<WaveTimes, wave_column_count> square_{};
  WaveTimes right_{};
};

/// Least absolute errors, by weights of one over the last errors.
WaveTimes fit(const Launches& launches, const WaveTimes& start, bool is_held) {
  WaveTimes constants = start;
  for (int i = 0; i < reweightings; ++i) {
    Squares squares;
    for (const Launched* launch : launches) {
      const double error = std::abs(answer(constants, launch->columns) - 1);
      squares.add(launch->columns, i == 0 ? 1 : 1 / std::max(error, error_floor));
    }
    if (is_held) squares.hold_to(start, prior_rows / static_cast<double>(launches.size()));
    constants = squares.solve(constants);
  }
  return constants;
}

double error_of(const Launches& launches, const WaveLaws::Laws& laws, std::string_view family,
                bool is_left_out) {
  double sum = 0;
  for (const Launched* launch : launches) {
    const auto law_of = [&](bool of_source, bool of_gpu) {
      WaveLawKey key{std::string(family), {}, of_gpu ? launch->gpu : ""};
      if (of_source) key.implementation = launch->implementation;
      return laws.find(key);
    };
    auto law = is_left_out ? laws.end() : law_of(true, true);
    if (law == laws.end()) law = law_of(true, false);
    if (law == laws.end()) law = law_of(false, false);
    if (law == laws.end()) return 0;
    sum += std::abs(answer(law->second.constants, launch->columns) - 1);
  }
  return launches.empty() ? 0 : sum / static_cast<double>(launches.size());
}

std::vector<Launched> launched(const FamilyTable& table, const Rows& rows) {
  std::vector<Launched> all;
  for (const std::size_t row : rows) {
    const FamilyRow& data = table.rows[row];
    const GpuSpec& gpu = table.specs[static_cast<std::size_t>(data.gpu)];
    try {
      Launched launch{gpu.name, resolve_implementation(table.kernels[row], gpu),
                      launch_waves(table.kernels[row], gpu).seconds};
      launch.implementation.is_cold = false;
      for (double& column : launch.columns) column /= data.measured;
      all.push_back(std::move(launch));
    } catch (const PredictionError&) {
    }
  }
  return all;
}

/// Those of `all` that `key` is of; "" and no implementation: of any.
Launches chosen(const std::vector<Launched>& all, const WaveLawKey& key,
                std::string_view without_gpu = "") {
  Launches result;
  for (const Launched& launch : all) {
    if (!key.gpu.empty() && launch.gpu != key.gpu) continue;
    if (key.implementation && !(launch.implementation == *key.implementation)) continue;
    if (launch.gpu == without_gpu) continue;
    result.push_back(&launch);
  }
  return result;
}

std::set<std::string> gpus_of(const Launches& launches) {
  std::set<std::string> gpus;
  for (const Launched* launch : launches) gpus.insert(launch->gpu);
  return gpus;
}

WaveLaws::Laws fit_laws(const std::string& family, const std::vector<Launched>& all,
                        std::string_view without_gpu = "") {
  WaveLaws::Laws laws;
  const Launches of_family = chosen(all, {family, {}, ""}, without_gpu);
  if (of_family.size() < rows_min) return laws;
  WaveTimes start;
  start.fill(0.2);
  const WaveTimes general = fit(of_family, start, false);
  laws[{family, {}, ""}].constants = general;
  std::set<std::pair<Framework, KernelSource>> sources;
  for (const Launched* launch : of_family) {
    sources.emplace(launch->implementation.framework, launch->implementation.source);
  }
  for (const auto& [framework, source] : sources) {
    WaveLawKey key{family, Implementation{framework, source}, ""};
    const Launches of_source = chosen(all, key, without_gpu);
    if (of_source.size() < rows_min) continue;
    const WaveTimes constants = fit(of_source, general, true);
    laws[key].constants = constants;
    for (const std::string& gpu : gpus_of(of_source)) {
      key.gpu = gpu;
      const Launches of_gpu = chosen(all, key);
      if (of_gpu.size() >= rows_min) laws[key].constants = fit(of_gpu, constants, true);
    }
    key.gpu.clear();
  }
  return laws;
}

}  // namespace

WaveLaws::Laws fit_wave_laws(const FamilyTable& table, const Rows& rows) {
  FORETOKEN_CHECK(table.kernels.size() == table.rows.size(), "the table holds no kernels");
  return fit_laws(std::string(table.family->name()), launched(table, rows));
}

WaveLaws::Laws fit_judged_wave_laws(const FamilyTable& table, const Rows& rows,
                                    const Rows& held_out) {
  const std::string family(table.family->name());
  const std::vector<Launched> all = launched(table, rows), judging = launched(table, held_out);
  WaveLaws::Laws laws = fit_laws(family, all);
  double unseen = 0;
  int folds = 0;
  const std::set<std::string> gpus = gpus_of(chosen(all, {family, {}, ""}));
  for (const std::string& gpu : gpus) {
    const Launches left_out = chosen(all, {family, {}, gpu});
    const WaveLaws::Laws others = fit_laws(family, all, gpu);
    if (others.empty() || left_out.size() < rows_min) continue;
    unseen += error_of(left_out, others, family, true);
    ++folds;
  }
  for (auto& [key, law] : laws) {
    if (key.gpu.empty()) {
      law.error = folds > 0 ? unseen / folds : 0;
      continue;
    }
    // Of the source alone where enough is held out, else of all on this GPU.
    Launches judged = chosen(judging, key);
    if (judged.size() < rows_min) judged = chosen(judging, {family, {}, key.gpu});
    law.error = error_of(judged, laws, family, false);
  }
  return laws;
}

}  // namespace foretoken
