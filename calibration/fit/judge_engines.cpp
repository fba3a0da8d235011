#include "calibration/fit/judge_engines.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "calibration/evaluate/comm_split.hpp"
#include "calibration/fit/all_reduce_fit.hpp"
#include "kernels/communication/collective_algorithm.hpp"

namespace foretoken {
namespace {

constexpr double mib = 1 << 20;

bool is_in_band(std::size_t band, double bytes) {
  if (band == 0) return bytes < mib;
  if (band == 1) return bytes >= mib;
  return bytes >= 8 * mib && bytes <= 64 * mib;
}

CollectiveCall call_of(const EngineRow& row, std::string_view engine) {
  return {.size = Bytes(row.row.point.bytes), .algorithm = engine};
}

}  // namespace

template <class Add>
void EngineReport::add(const EngineRow& row, Add add) {
  for (std::size_t band = 0; band < bands.size(); ++band) {
    if (!is_in_band(band, row.row.point.bytes)) continue;
    for (const std::string& name : {row.name(), std::string(enum_name(row.engine)) + " (all)"}) {
      for (const int ranks : {row.row.point.ranks, 0})
        add(lines_[{name, ranks, static_cast<int>(band)}]);
    }
  }
}

void EngineReport::add_own(const EngineRow& row, Seconds predicted) {
  add(row, [&](Boards& boards) { boards.own.add(predicted.value(), row.row.time.value()); });
}

void EngineReport::add_shipped(const EngineRow& row, Seconds predicted) {
  add(row, [&](Boards& boards) { boards.shipped.add(predicted.value(), row.row.time.value()); });
}

std::string EngineReport::text() const {
  std::string text = fmt::format("{:<15} {:>5} {:<12} {:>5} {:>6} {:>6} {:>6} {:>5} {:>8} {:>6}\n",
                                 "all-reduce of", "ranks", "size", "rows", "own%", "p90", "bias",
                                 "rows", "shipped%", "p90");
  for (const auto& [line, boards] : lines_) {
    const auto& [name, ranks, band] = line;
    const Score own = boards.own.score(), shipped = boards.shipped.score();
    const auto percent = [](const Score& score, double value) {
      return score.rows == 0 ? std::string("-") : fmt::format("{:.1f}", 100 * value);
    };
    text += fmt::format("{:<15} {:>5} {:<12} {:>5} {:>6} {:>6} {:>6} {:>5} {:>8} {:>6}\n", name,
                        ranks == 0 ? "all" : std::to_string(ranks),
                        bands[static_cast<std::size_t>(band)], own.rows, percent(own, own.mape),
                        percent(own, own.p90), percent(own, own.bias), shipped.rows,
                        percent(shipped, shipped.mape), percent(shipped, shipped.p90));
  }
  return text +
         "own%: mean error of the engine's own kernels at sizes left out of the fit; shipped%: of\n"
         "all sizes as the program prices them, NCCL's where the engine hands over to it\n";
}

Value EngineReport::json() const {
  const auto value_of = [](const Score& score) {
    return Value(ValueObject{{"rows", static_cast<std::int64_t>(score.rows)},
                             {"mape", score.mape},
                             {"p90", score.p90},
                             {"bias", score.bias}});
  };
  ValueArray lines;
  for (const auto& [line, boards] : lines_) {
    const auto& [name, ranks, band] = line;
    lines.emplace_back(ValueObject{{"engine", name},
                                   {"ranks", ranks},
                                   {"size", std::string(bands[static_cast<std::size_t>(band)])},
                                   {"own", value_of(boards.own.score())},
                                   {"shipped", value_of(boards.shipped.score())}});
  }
  return lines;
}

EngineReport judge_engines(std::span<const EngineRow> rows) {
  MeasuredClusters clusters;
  const AllReduceChoices& shipped = AllReduceChoices::built_in();
  std::vector<EngineRow> training;
  std::ranges::copy_if(rows, std::back_inserter(training),
                       [](const EngineRow& row) { return !is_held_out_size(row.row.point.bytes); });
  const AllReduceChoices fitted = fit_all_reduce(shipped, training);
  EngineReport report;
  for (const EngineRow& row : rows) {
    const CommParameters& known = clusters.find(row.row.gpu, row.row.cluster).comm;
    const std::string name = row.name();
    const CollectiveCall call = call_of(row, name);
    report.add_shipped(row, collective_time(call, row.row.links, known));
    if (!is_held_out_size(row.row.point.bytes)) continue;
    const AllReduceChoice* choice =
        fitted.find({row.engine, row.since}, row.fabric, row.row.point.ranks);
    const AllReduceKernel* kernel =
        choice == nullptr ? nullptr : choice->kernel_for(row.row.point.bytes);
    if (kernel == nullptr) continue;
    if (const auto cost = cost_by(*kernel, call, row.row.links, known))
      report.add_own(row, cost->time());
  }
  return report;
}

}  // namespace foretoken
