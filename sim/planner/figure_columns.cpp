#include "sim/planner/figure_columns.hpp"

#include <array>

namespace foretoken {
namespace {

using F = const RunFigures&;

constexpr auto columns = std::to_array<FigureColumn>({
    {"gpus", "GPUs", [](F f) { return static_cast<double>(f.gpus); }, true, "GPUs", ""},
    {"replicas", "", [](F f) { return static_cast<double>(f.replicas); }, true, "replicas", ""},
    {"ttft_p50_ms", "", [](F f) { return f.ttft_p50_ms; }, false, "TTFT p50", "ms"},
    {"ttft_p99_ms", "TTFT p99", [](F f) { return f.ttft_p99_ms; }, false, "TTFT p99", "ms"},
    {"tpot_p50_ms", "", [](F f) { return f.tpot_p50_ms; }, false, "TPOT p50", "ms"},
    {"tpot_p99_ms", "TPOT p99", [](F f) { return f.tpot_p99_ms; }, false, "TPOT p99", "ms"},
    {"e2e_p50_ms", "", [](F f) { return f.e2e_p50_ms; }, false, "E2E p50", "ms"},
    {"requests_per_s", "", [](F f) { return f.requests_per_s; }, false, "completed", "requests/s",
     true},
    {"output_tokens_per_s", "tok/s", [](F f) { return f.output_tokens_per_s; }, false, "output",
     "tokens/s", true},
    {"output_tokens_per_s_gpu", "/GPU", [](F f) { return f.output_tokens_per_s_gpu; }, false,
     "per GPU", "tokens/s", true},
});
constexpr auto slo_columns = std::to_array<FigureColumn>({
    {"attainment", "", [](F f) { return f.attainment; }, false, "within SLO", "%", true, true},
    {"goodput_per_s", "good/s", [](F f) { return f.goodput_per_s; }, false, "goodput",
     "requests/s", true},
    {"goodput_per_s_gpu", "/GPU", [](F f) { return f.goodput_per_s / f.gpus; }, false,
     "goodput per GPU", "requests/s", true},
});

}  // namespace

std::span<const FigureColumn> figure_columns() { return columns; }
std::span<const FigureColumn> slo_figure_columns() { return slo_columns; }

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

}  // namespace foretoken
