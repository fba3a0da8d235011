// The same run by the definitions of several load tools.
#include <fmt/format.h>

#include "sim/report/number_text.hpp"
#include "sim/report/text_table.hpp"
#include "sim/report/tool_samples.hpp"

namespace foretoken {
namespace {

constexpr std::string_view ttft_meaning = "from sending a request to its first token";
constexpr std::string_view after_first = "(E2E - TTFT) / (output tokens - 1); one token has none";
constexpr std::string_view itl_meaning = "every gap between two pieces of an answer";
constexpr std::string_view e2e_meaning = "from sending a request to its last token";

std::vector<double> inverted(const std::vector<double>& ms) {
  std::vector<double> out;
  for (const double each : ms)
    if (each > 0) out.push_back(1e3 / each);
  return out;
}

class MetricsOf {
 public:
  MetricsOf(LoadTool tool, const Report& report, const TokenGaps& gaps)
      : samples_(tool_samples(report, gaps)), gpus_(report.gpus), has_gaps_(gaps.is_whole) {
    metrics_.tool = tool;
  }

  ToolMetrics take() {
    switch (metrics_.tool) {
      case LoadTool::vllm:
        take_vllm();
        break;
      case LoadTool::aiperf:
        take_aiperf();
        break;
      case LoadTool::inferencex:
        take_inferencex();
        break;
    }
    return std::move(metrics_);
  }

 private:
  void row(std::string key, std::string title, std::string unit, const std::vector<double>& samples,
           std::string_view definition) {
    const SampleStatistics found = statistics_of(samples);
    metrics_.rows.push_back({std::move(key), std::move(title), std::move(unit), found.mean,
                             found.p50, found.p90, found.p99, std::string(definition)});
  }
  void figure(std::string key, std::string title, std::string unit, double value,
              std::string definition) {
    metrics_.figures.push_back(
        {std::move(key), std::move(title), std::move(unit), value, std::move(definition)});
  }
  void latencies() {
    row("ttft_ms", "TTFT", "ms", samples_.ttft_ms, ttft_meaning);
    row("tpot_ms", "TPOT", "ms", samples_.tpot_ms, after_first);
    if (has_gaps_) row("itl_ms", "ITL", "ms", samples_.itl_ms, itl_meaning);
    row("e2el_ms", "E2EL", "ms", samples_.e2e_ms, e2e_meaning);
  }
  void throughputs() {
    const std::string over = "over the time from the first request to the last answer";
    figure("request_throughput", "requests", "requests/s",
           samples_.per_second(static_cast<double>(samples_.completed.size())), over);
    figure("output_throughput", "output tokens", "tokens/s", samples_.per_second(output()), over);
  }
  [[nodiscard]] double output() const { return static_cast<double>(samples_.output_tokens); }
  [[nodiscard]] double input() const { return static_cast<double>(samples_.input_tokens); }

  void take_vllm() {
    latencies();
    throughputs();
    figure("total_token_throughput", "all tokens", "tokens/s",
           samples_.per_second(output() + input()), "prompts and answers, over the same time");
  }

  void take_aiperf() {
    row("time_to_first_token_ms", "TTFT", "ms", samples_.ttft_ms, ttft_meaning);
    row("inter_token_latency_ms", "inter-token latency", "ms", samples_.tpot_ms, after_first);
    if (has_gaps_)
      row("inter_chunk_latency_ms", "inter-chunk latency", "ms", samples_.itl_ms, itl_meaning);
    row("request_latency_ms", "request latency", "ms", samples_.e2e_ms, e2e_meaning);
    row("output_token_throughput_per_user", "per user", "tokens/s", inverted(samples_.tpot_ms),
        "1 / inter-token latency");
    row("e2e_output_token_throughput", "per user, end to end", "tokens/s",
        inverted(samples_.e2e_per_token_ms), "output tokens / request latency");
    throughputs();
  }

  void take_inferencex() {
    latencies();
    row("e2e_per_token_ms", "E2E per token", "ms", samples_.e2e_per_token_ms,
        "E2E / output tokens, the first included");
    row("interactivity", "interactivity", "tokens/s/user", inverted(samples_.tpot_ms), "1 / TPOT");
    const auto per_gpu = [&](double tokens) { return samples_.per_second(tokens) / gpus_; };
    const std::string over = fmt::format("over the whole run, of {}", counted(gpus_, "GPU"));
    figure("median_intvty", "interactivity", "tokens/s/user",
           1e3 / std::max(1e-9, statistics_of(samples_.tpot_ms).p50), "1 / median TPOT");
    figure("tput_per_gpu", "all tokens per GPU", "tokens/s", per_gpu(output() + input()), over);
    figure("output_tput_per_gpu", "output tokens per GPU", "tokens/s", per_gpu(output()), over);
    figure("input_tput_per_gpu", "input tokens per GPU", "tokens/s", per_gpu(input()), over);
  }

  ToolSamples samples_;
  int gpus_;
  bool has_gaps_;
  ToolMetrics metrics_;
};

std::string tool_title(LoadTool tool) {
  return tool == LoadTool::vllm     ? "vLLM's load tool"
         : tool == LoadTool::aiperf ? "AIPerf"
                                    : "InferenceX";
}

}  // namespace

ToolMetrics tool_metrics(LoadTool tool, const Report& report, const TokenGaps& gaps) {
  return MetricsOf(tool, report, gaps).take();
}

std::string tool_metrics_text(const ToolMetrics& metrics, int width, bool colour) {
  const Ink ink(colour);
  TextTable rows({{"as " + tool_title(metrics.tool) + " counts", Align::left},
                  {"mean", Align::right},
                  {"p50", Align::right},
                  {"p90", Align::right},
                  {"p99", Align::right},
                  {.header = "", .folds = true}});
  for (const ToolMetrics::Row& row : metrics.rows) {
    rows.add_row({fmt::format("{}  {}", row.title, row.unit), brief(row.mean), brief(row.p50),
                  brief(row.p90), brief(row.p99), ink.quiet(row.definition)});
  }
  TextTable figures({{}, {"", Align::right}, {}, {.header = "", .folds = true}});
  for (const ToolMetrics::Figure& figure : metrics.figures)
    figures.add_row({figure.title, brief(figure.value), figure.unit, ink.quiet(figure.definition)});
  const TextTable::Layout layout{.width = width, .colour = colour};
  return "\n" + rows.text(layout) + "\n" + figures.text(layout);
}

Value tool_metrics_value(const ToolMetrics& metrics) {
  Value value = ValueObject{{"tool", std::string(enum_name(metrics.tool))}};
  for (const ToolMetrics::Row& row : metrics.rows) {
    value.set(row.key, ValueObject{{"mean", row.mean},
                                   {"p50", row.p50},
                                   {"p90", row.p90},
                                   {"p99", row.p99},
                                   {"unit", row.unit},
                                   {"definition", row.definition}});
  }
  for (const ToolMetrics::Figure& figure : metrics.figures) {
    value.set(figure.key, ValueObject{{"value", figure.value},
                                      {"unit", figure.unit},
                                      {"definition", figure.definition}});
  }
  return value;
}

}  // namespace foretoken
