#include "calibration/evaluate/promise_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace foretoken {
namespace {

using Launches = std::vector<PromisedLaunch>;

/// Fewer say little of their tenth: they go to the rest of their family and GPU.
constexpr std::size_t cell_launches_min = 150;
/// Of fewer no share between the bounds may exist (5 of 5 is 100 %): they are not judged.
constexpr std::size_t judged_launches_min = 20;
constexpr double covered_aim = 0.9;
constexpr double covered_min = 0.85, covered_max = 0.95;

/// Half of what so many stay within.
double promise_of(const Launches& launches) {
  std::vector<double> off;
  for (const PromisedLaunch& launch : launches) off.push_back(launch.off);
  std::ranges::sort(off);
  const auto rank = static_cast<std::size_t>(covered_aim * static_cast<double>(off.size()));
  const double half = off[std::min(rank, off.size() - 1)] / 2;
  return std::ceil(half * 1e6) / 1e6;
}

template <class Promise>
double covered(const Launches& launches, Promise promise) {
  const auto within = std::ranges::count_if(
      launches, [&](const PromisedLaunch& launch) { return launch.off <= 2 * promise(launch); });
  return static_cast<double>(within) / static_cast<double>(launches.size());
}

/// By promises made on the layouts of the other half; negative: there is but one layout.
double covered_across(const Launches& launches) {
  double within = 0;
  for (const bool is_odd : {false, true}) {
    Launches learned, judged;
    for (const PromisedLaunch& launch : launches) {
      ((launch.layout % 2 == 1) == is_odd ? judged : learned).push_back(launch);
    }
    if (learned.empty() || judged.empty()) return -1;
    const double promise = promise_of(learned);
    within += covered(judged, [&](const PromisedLaunch&) { return promise; }) *
              static_cast<double>(judged.size());
  }
  return within / static_cast<double>(launches.size());
}

std::string code_of(const ErrorCell& cell) {
  if (cell.length == LaunchLength::any) return "all others";
  return fmt::format("{} {}", enum_name(cell.framework),
                     cell.source == KernelSource::automatic ? "" : enum_name(cell.source));
}

}  // namespace

PromiseReport::PromiseReport(const std::vector<PromisedLaunch>& launches) {
  std::map<ErrorCell, Launches> all;
  for (const PromisedLaunch& launch : launches) all[launch.cell].push_back(launch);
  for (auto& [cell, found] : all) {
    const bool is_own = found.size() >= cell_launches_min;
    Launches& kept = cells_[is_own ? cell : rest_cell(cell.family, cell.gpu)];
    kept.insert(kept.end(), found.begin(), found.end());
  }
}

std::string PromiseReport::text(bool is_brief) const {
  std::string text =
      fmt::format("{:<10} {:<28} {:<8} {:<9} {:>8} {:>10} {:>10} {:>11}\n", "GPU", "code", "batch",
                  "length", "launches", "promised %", "covered %", "half/half %");
  std::string family;
  std::size_t sound = 0, judged = 0;
  for (const auto& [cell, launches] : cells_) {
    if (cell.family != family) text += cell.family + "\n";
    family = cell.family;
    double promised = 0;
    for (const PromisedLaunch& launch : launches) promised += launch.promised;
    const double share =
        covered(launches, [](const PromisedLaunch& launch) { return launch.promised; });
    const double across = covered_across(launches);
    if (launches.size() >= judged_launches_min) {
      ++judged;
      if (share >= covered_min && share <= covered_max) ++sound;
    }
    text += fmt::format("{:<10} {:<28} {:<8} {:<9} {:>8} {:>10.1f} {:>10.1f} {:>11}\n", cell.gpu,
                        code_of(cell), enum_name(cell.batch), enum_name(cell.length),
                        launches.size(), 100 * promised / static_cast<double>(launches.size()),
                        100 * share, across < 0 ? "" : fmt::format("{:.1f}", 100 * across));
  }
  return (is_brief ? "" : text) +
         fmt::format(
             "twice the promised error covers 85 to 95 % of the launches in {} of {} cells\n",
             sound, judged);
}

PriceErrors::Entries PromiseReport::entries() const {
  PriceErrors::Entries entries;
  for (const auto& [cell, launches] : cells_) {
    entries[cell] = {promise_of(launches), static_cast<std::int64_t>(launches.size())};
  }
  return entries;
}

}  // namespace foretoken
