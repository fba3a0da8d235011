// The figures of a run that a comparison looks at, read from report.json's object.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/value.hpp"
#include "sim/report/report.hpp"

namespace foretoken {

struct RunFigures {
  int gpus = 0;  // that the replicas take
  int replicas = 0;
  double ttft_p50_ms = 0, ttft_p99_ms = 0, tpot_p50_ms = 0, tpot_p99_ms = 0, e2e_p50_ms = 0;
  double requests_per_s = 0, output_tokens_per_s = 0;
  double output_tokens_per_s_gpu = 0;
  bool has_slo = false, slo_met = false;
  double attainment = 1, goodput_per_s = 0;   // of the SLO
  std::optional<double> dollars_per_million;  // output tokens; nullopt: the GPU has no price
  std::int64_t arrived = 0, completed = 0, failed = 0, rejected = 0, timed_out = 0;
  /// What prices may make of a figure, by its name ("ttft_p50_ms"); none where runs did not ask.
  std::vector<std::pair<std::string_view, FigureInterval>> intervals;
  [[nodiscard]] bool has_intervals() const { return !intervals.empty(); }
  std::string bound;  // "gemm 71 %": what most of the GPU's time goes to, or what else limits
};

/// Of the figure called `name`; nullopt: it has none.
std::optional<FigureInterval> interval_of(const RunFigures& figures, std::string_view name);

/// `report` is what report_value() made. Anything missing is an InternalError: both ends are ours.
RunFigures figures_of(const Value& report);

}  // namespace foretoken
