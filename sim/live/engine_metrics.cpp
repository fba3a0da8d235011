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

void PrometheusHistogram::append(std::string_view name, std::string_view labels,
                                 std::string& text) const {
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

/// Metric by metric, and of each the lines of all models.
class MetricsPage {
 public:
  explicit MetricsPage(const std::vector<ServedMetrics>& models) : models_(models) {}

  std::string write() {
    add_gauges();
    add_counters();
    add_ends();
    add_histograms();
    return std::move(text_);
  }

 private:
  static std::string label(const ServedMetrics& model) {
    return fmt::format("model_name=\"{}\"", label_value(model.model));
  }

  /// One gauge or counter of every replica.
  void figures(std::string_view name, std::string_view help, std::string_view type,
               const auto& figure) {
    append_head(name, help, type, text_);
    for (const ServedMetrics& model : models_) {
      for (std::size_t i = 0; i < model.replicas.size(); ++i) {
        fmt::format_to(std::back_inserter(text_), "{}{{engine=\"{}\",{}}} {}\n", name, i,
                       label(model), figure(model.replicas[i]));
      }
    }
  }

  void add_gauges() {
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
  }

  void counter(std::string_view name, std::string_view help, std::int64_t EngineMetrics::*value) {
    append_head(name, help, "counter", text_);
    for (const ServedMetrics& model : models_) {
      fmt::format_to(std::back_inserter(text_), "{}{{{}}} {}\n", name, label(model),
                     model.metrics->*value);
    }
  }

  void add_counters() {
    using M = EngineMetrics;
    counter("vllm:num_preemptions_total", "Preemptions of requests that have ended.",
            &M::preemptions_);
    counter("vllm:prompt_tokens_total", "Number of prefill tokens processed.", &M::prompts_);
    counter("vllm:generation_tokens_total", "Number of generation tokens processed.",
            &M::generated_);
  }

  void add_ends() {
    append_head("vllm:request_success_total", "Count of processed requests by how they ended.",
                "counter", text_);
    for (const ServedMetrics& model : models_) {
      const auto& ended = model.metrics->ended_;
      for (const std::string_view reason : {"stop", "length", "abort", "error"}) {
        std::int64_t count = 0;
        for (std::size_t status = 0; status < ended.size(); ++status) {
          if (finished_reason(static_cast<RequestStatus>(status)) == reason) count += ended[status];
        }
        fmt::format_to(std::back_inserter(text_),
                       "vllm:request_success_total{{finished_reason=\"{}\",{}}} {}\n", reason,
                       label(model), count);
      }
    }
  }

  void histogram(std::string_view name, std::string_view help,
                 PrometheusHistogram EngineMetrics::*samples) {
    append_head(name, help, "histogram", text_);
    for (const ServedMetrics& model : models_)
      (model.metrics->*samples).append(name, label(model), text_);
  }

  void add_histograms() {
    using M = EngineMetrics;
    histogram("vllm:time_to_first_token_seconds", "Time to first token in seconds.", &M::ttft_);
    histogram("vllm:inter_token_latency_seconds", "Inter-token latency in seconds.", &M::gap_);
    histogram("vllm:request_time_per_output_token_seconds", "Time per output token of a request.",
              &M::tpot_);
    histogram("vllm:e2e_request_latency_seconds", "End-to-end request latency in seconds.",
              &M::end_to_end_);
    histogram("vllm:request_queue_time_seconds", "Time spent in the waiting phase.", &M::queue_);
    histogram("vllm:request_prefill_time_seconds", "Time spent in the prefill phase.",
              &M::prefill_);
    histogram("vllm:request_decode_time_seconds", "Time spent in the decode phase.", &M::decode_);
    histogram("vllm:request_inference_time_seconds", "Time spent in the running phase.",
              &M::inference_);
    histogram("vllm:request_prompt_tokens", "Number of prefill tokens processed.",
              &M::prompt_tokens_);
    histogram("vllm:request_generation_tokens", "Number of generation tokens processed.",
              &M::output_tokens_);
  }

  const std::vector<ServedMetrics>& models_;
  std::string text_;
};

std::string metrics_page(const std::vector<ServedMetrics>& models) {
  return MetricsPage(models).write();
}

}  // namespace foretoken
