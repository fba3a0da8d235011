// Names, help and buckets after vLLM's vllm/v1/metrics/loggers.py (0.11).
#include "sim/live/engine_metrics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace foretoken {
namespace {

constexpr auto ttft_bounds =
    std::to_array<double>({0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1,  0.25,  0.5,   0.75,
                           1.0,   2.5,   5.0,  7.5,  10.0, 20.0, 40.0, 80.0, 160.0, 640.0, 2560.0});
constexpr auto gap_bounds =
    std::to_array<double>({0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5,
                           5.0, 7.5, 10.0, 20.0, 40.0, 80.0});
constexpr auto request_bounds =
    std::to_array<double>({0.3,  0.5,  0.8,  1.0,  1.5,   2.0,   2.5,   5.0,   10.0,   15.0,  20.0,
                           30.0, 40.0, 50.0, 60.0, 120.0, 240.0, 480.0, 960.0, 1920.0, 7680.0});
constexpr auto token_bounds =
    std::to_array<double>({1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000,
                           50000, 100000, 200000, 500000, 1000000});

void append_head(std::string_view name, std::string_view help, std::string_view type,
                 std::string& text) {
  fmt::format_to(std::back_inserter(text), "# HELP {0} {1}\n# TYPE {0} {2}\n", name, help, type);
}

/// Prometheus asks for quotes, backslashes and line ends to be escaped.
std::string label_value(std::string_view text) {
  std::string escaped;
  for (const char letter : text) {
    if (letter == '\\' || letter == '"') escaped += '\\';
    escaped += letter == '\n' ? ' ' : letter;
  }
  return escaped;
}

/// One gauge or counter of every replica.
template <class Figure>
void append_figures(std::string_view name, std::string_view help, std::string_view type,
                    std::string_view model, const std::vector<ReplicaGauges>& replicas,
                    const Figure& figure, std::string& text) {
  append_head(name, help, type, text);
  for (std::size_t i = 0; i < replicas.size(); ++i) {
    fmt::format_to(std::back_inserter(text), "{}{{engine=\"{}\",model_name=\"{}\"}} {}\n", name, i,
                   model, figure(replicas[i]));
  }
}

/// As vLLM calls it; "" for an end that it does not count as one.
std::string_view finished_reason(RequestStatus status) {
  switch (status) {
    case RequestStatus::completed:
      return "length";
    case RequestStatus::cancelled:
    case RequestStatus::timed_out:
      return "abort";
    case RequestStatus::failed:
    case RequestStatus::rejected:
      return "error";
    case RequestStatus::unfinished:
      break;
  }
  return "";
}

}  // namespace

void PrometheusHistogram::add(double value) {
  const auto bound = std::ranges::lower_bound(bounds_, value);
  ++counts_[static_cast<std::size_t>(bound - bounds_.begin())];
  sum_ += value;
}

void PrometheusHistogram::append(std::string_view name, std::string_view help,
                                 std::string_view labels, std::string& text) const {
  append_head(name, help, "histogram", text);
  const auto out = std::back_inserter(text);
  std::int64_t below = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    below += counts_[i];
    const std::string bound = i < bounds_.size() ? fmt::format("{}", bounds_[i]) : "+Inf";
    fmt::format_to(out, "{}_bucket{{{},le=\"{}\"}} {}\n", name, labels, bound, below);
  }
  fmt::format_to(out, "{0}_sum{{{1}}} {2}\n{0}_count{{{1}}} {3}\n", name, labels, sum_, below);
}

EngineMetrics::EngineMetrics()
    : ttft_(ttft_bounds),
      gap_(gap_bounds),
      tpot_(gap_bounds),
      end_to_end_(request_bounds),
      queue_(request_bounds),
      prefill_(request_bounds),
      decode_(request_bounds),
      inference_(request_bounds),
      prompt_tokens_(token_bounds),
      output_tokens_(token_bounds) {}

void EngineMetrics::add_request(const RequestRecord& record) {
  ++ended_[static_cast<std::size_t>(record.status)];
  preemptions_ += record.preemptions;
  if (record.first_token >= Seconds(0.0)) {
    ttft_.add(record.ttft().value());
    prompts_ += record.prompt_tokens;
  }
  if (record.status != RequestStatus::completed) return;
  prompt_tokens_.add(static_cast<double>(record.prompt_tokens));
  output_tokens_.add(static_cast<double>(record.output_tokens));
  if (record.output_tokens > 1) tpot_.add(record.tpot().value());
  end_to_end_.add(record.end_to_end().value());
  queue_.add((record.scheduled - record.arrival).value());
  prefill_.add((record.first_token - record.scheduled).value());
  decode_.add((record.last_token - record.first_token).value());
  inference_.add((record.last_token - record.scheduled).value());
}

std::string EngineMetrics::page(std::string_view model,
                                const std::vector<ReplicaGauges>& replicas) const {
  std::string text;
  const std::string name = label_value(model);
  const auto figures = [&](std::string_view key, std::string_view help, std::string_view type,
                           const auto& figure) {
    append_figures(key, help, type, name, replicas, figure, text);
  };
  figures("vllm:num_requests_running", "Number of requests in model execution batches.", "gauge",
          [](const ReplicaGauges& replica) { return replica.running; });
  figures("vllm:num_requests_waiting", "Number of requests waiting to be processed.", "gauge",
          [](const ReplicaGauges& replica) { return replica.waiting; });
  figures("vllm:kv_cache_usage_perc", "KV-cache usage. 1 means 100 percent usage.", "gauge",
          [](const ReplicaGauges& replica) { return replica.kv_used; });
  figures("vllm:prefix_cache_queries_total", "Prefix cache queries, in tokens.", "counter",
          [](const ReplicaGauges& replica) { return replica.prefixes.tokens_asked; });
  figures("vllm:prefix_cache_hits_total", "Prefix cache hits, in tokens.", "counter",
          [](const ReplicaGauges& replica) { return replica.prefixes.tokens_found; });
  const std::string labels = fmt::format("model_name=\"{}\"", name);
  const auto counter = [&](std::string_view key, std::string_view help, std::int64_t value) {
    append_head(key, help, "counter", text);
    fmt::format_to(std::back_inserter(text), "{}{{{}}} {}\n", key, labels, value);
  };
  counter("vllm:num_preemptions_total", "Preemptions of requests that have ended.", preemptions_);
  counter("vllm:prompt_tokens_total", "Number of prefill tokens processed.", prompts_);
  counter("vllm:generation_tokens_total", "Number of generation tokens processed.", generated_);
  append_head("vllm:request_success_total", "Count of processed requests by how they ended.",
              "counter", text);
  for (const std::string_view reason : {"stop", "length", "abort", "error"}) {
    std::int64_t count = 0;
    for (std::size_t status = 0; status < ended_.size(); ++status) {
      if (finished_reason(static_cast<RequestStatus>(status)) == reason) count += ended_[status];
    }
    fmt::format_to(std::back_inserter(text),
                   "vllm:request_success_total{{finished_reason=\"{}\",{}}} {}\n", reason, labels,
                   count);
  }
  const auto histogram = [&](std::string_view key, std::string_view help,
                             const PrometheusHistogram& samples) {
    samples.append(key, help, labels, text);
  };
  histogram("vllm:time_to_first_token_seconds", "Time to first token in seconds.", ttft_);
  histogram("vllm:inter_token_latency_seconds", "Inter-token latency in seconds.", gap_);
  histogram("vllm:request_time_per_output_token_seconds", "Time per output token of a request.",
            tpot_);
  histogram("vllm:e2e_request_latency_seconds", "End-to-end request latency in seconds.",
            end_to_end_);
  histogram("vllm:request_queue_time_seconds", "Time spent in the waiting phase.", queue_);
  histogram("vllm:request_prefill_time_seconds", "Time spent in the prefill phase.", prefill_);
  histogram("vllm:request_decode_time_seconds", "Time spent in the decode phase.", decode_);
  histogram("vllm:request_inference_time_seconds", "Time spent in the running phase.", inference_);
  histogram("vllm:request_prompt_tokens", "Number of prefill tokens processed.", prompt_tokens_);
  histogram("vllm:request_generation_tokens", "Number of generation tokens processed.",
            output_tokens_);
  return text;
}

}  // namespace foretoken
