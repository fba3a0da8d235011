#include "sim/planner/figure_columns.hpp"

#include <array>

namespace foretoken {
namespace {

constexpr auto columns = std::to_array<FigureColumn>({
    {"gpus", "GPUs", [](const RunFigures& f) { return static_cast<double>(f.gpus); }, true},
    {"replicas", "", [](const RunFigures& f) { return static_cast<double>(f.replicas); }, true},
    {"ttft_p50_ms", "", [](const RunFigures& f) { return f.ttft_p50_ms; }},
    {"ttft_p99_ms", "TTFT p99", [](const RunFigures& f) { return f.ttft_p99_ms; }},
    {"tpot_p50_ms", "", [](const RunFigures& f) { return f.tpot_p50_ms; }},
    {"tpot_p99_ms", "TPOT p99", [](const RunFigures& f) { return f.tpot_p99_ms; }},
    {"e2e_p50_ms", "", [](const RunFigures& f) { return f.e2e_p50_ms; }},
    {"requests_per_s", "", [](const RunFigures& f) { return f.requests_per_s; }},
    {"output_tokens_per_s", "tok/s", [](const RunFigures& f) { return f.output_tokens_per_s; }},
    {"output_tokens_per_s_gpu", "/GPU",
     [](const RunFigures& f) { return f.output_tokens_per_s_gpu; }},
});
constexpr auto slo_columns = std::to_array<FigureColumn>({
    {"attainment", "", [](const RunFigures& f) { return f.attainment; }},
    {"goodput_per_s", "good/s", [](const RunFigures& f) { return f.goodput_per_s; }},
    {"goodput_per_s_gpu", "/GPU", [](const RunFigures& f) { return f.goodput_per_s / f.gpus; }},
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
