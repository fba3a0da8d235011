// What load tools say of a run, of a simulated one: files that their users' scripts read, and their
// definitions of metrics, which differ from each other's and from the report's (README.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/report/report.hpp"

namespace foretoken {

/// When clients got the pieces of their answers, as a load tool notes it: of each request, by id, s
/// from one piece to the next. A piece is what one step brings, which with speculation may be
/// several tokens.
struct TokenGaps {
  std::vector<std::vector<float>> by_request;
  bool is_whole = true;  // else there were too many to keep, and there are none
};

/// The file of `vllm bench serve --save-result --save-detailed`, with its keys. Requests before the
/// warm-up's end are not in it. Its date is that of the simulated clock's beginning.
std::string vllm_bench_json(const Report& report, const TokenGaps& gaps);

/// AIPerf's profile_export.jsonl: an object a request.
std::string aiperf_jsonl(const Report& report, const TokenGaps& gaps);

enum class LoadTool { aiperf, inferencex, vllm };
template <>
struct EnumNames<LoadTool> {
  static constexpr auto names = std::to_array<std::string_view>({"aiperf", "inferencex", "vllm"});
};

/// Metrics as a tool defines them, over requests that completed.
struct ToolMetrics {
  struct Row {
    std::string key, title, unit;  // "tpot_ms", "TPOT", "ms"
    double mean = 0, p50 = 0, p90 = 0, p99 = 0;
    std::string definition;
  };
  struct Figure {
    std::string key, title, unit;
    double value = 0;
    std::string definition;
  };
  LoadTool tool = LoadTool::vllm;
  std::vector<Row> rows;
  std::vector<Figure> figures;
};

ToolMetrics tool_metrics(LoadTool tool, const Report& report, const TokenGaps& gaps);
std::string tool_metrics_text(const ToolMetrics& metrics, int width, bool colour);
Value tool_metrics_value(const ToolMetrics& metrics);

}  // namespace foretoken
