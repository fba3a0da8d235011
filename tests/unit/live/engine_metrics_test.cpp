// The page that Prometheus reads.
#include "sim/live/engine_metrics.hpp"

#include <gmock/gmock.h>

namespace foretoken {
namespace {

using testing::HasSubstr;

RequestRecord completed() {
  RequestRecord record;
  record.arrival = Seconds(1.0);
  record.scheduled = Seconds(1.2);
  record.first_token = Seconds(1.5);
  record.last_token = record.finished = record.ended = Seconds(2.5);
  record.prompt_tokens = 30;
  record.output_tokens = 11;
  record.status = RequestStatus::completed;
  return record;
}

TEST(EngineMetrics, HistogramsCountWhatLiesAtOrBelow) {
  EngineMetrics metrics;
  metrics.add_request(completed());  // TTFT 0.5, TPOT 0.1, E2E 1.5, queue 0.2
  metrics.add_tokens(11);
  const std::string page = metrics_page({{"m", &metrics, {}}});
  for (const char* line :
       {"vllm:time_to_first_token_seconds_bucket{model_name=\"m\",le=\"0.25\"} 0\n",
        "vllm:time_to_first_token_seconds_bucket{model_name=\"m\",le=\"0.5\"} 1\n",
        "vllm:time_to_first_token_seconds_bucket{model_name=\"m\",le=\"+Inf\"} 1\n",
        "vllm:time_to_first_token_seconds_sum{model_name=\"m\"} 0.5\n",
        "vllm:e2e_request_latency_seconds_bucket{model_name=\"m\",le=\"1.5\"} 1\n",
        "vllm:request_prompt_tokens_bucket{model_name=\"m\",le=\"20\"} 0\n",
        "vllm:request_prompt_tokens_bucket{model_name=\"m\",le=\"50\"} 1\n",
        "vllm:prompt_tokens_total{model_name=\"m\"} 30\n",
        "vllm:generation_tokens_total{model_name=\"m\"} 11\n",
        "vllm:request_success_total{finished_reason=\"length\",model_name=\"m\"} 1\n"}) {
    EXPECT_THAT(page, HasSubstr(line));
  }
}

TEST(EngineMetrics, CancelledRequestsAreAbortsWithoutLatencies) {
  EngineMetrics metrics;
  RequestRecord record = completed();
  record.status = RequestStatus::cancelled;
  record.first_token = Seconds(-1.0);
  metrics.add_request(record);
  const std::string page = metrics_page({{"m", &metrics, {}}});
  EXPECT_THAT(page, HasSubstr("finished_reason=\"abort\",model_name=\"m\"} 1\n"));
  EXPECT_THAT(page, HasSubstr("vllm:time_to_first_token_seconds_count{model_name=\"m\"} 0\n"));
  EXPECT_THAT(page, HasSubstr("vllm:e2e_request_latency_seconds_count{model_name=\"m\"} 0\n"));
}

TEST(EngineMetrics, EveryReplicaIsAnEngine) {
  const EngineMetrics metrics;
  const std::string page =
      metrics_page({{"a \"b\"", &metrics, {{1, 2, 0.25, {}}, {3, 0, 0.0, {}}}}});
  EXPECT_THAT(page,
              HasSubstr("vllm:num_requests_running{engine=\"1\",model_name=\"a \\\"b\\\"\"} 3"));
  EXPECT_THAT(page,
              HasSubstr("vllm:num_requests_waiting{engine=\"0\",model_name=\"a \\\"b\\\"\"} 2"));
  EXPECT_THAT(page,
              HasSubstr("vllm:kv_cache_usage_perc{engine=\"0\",model_name=\"a \\\"b\\\"\"} 0.25"));
}

TEST(EngineMetrics, SeveralModelsShareAMetricsHead) {
  EngineMetrics small, large;
  small.add_tokens(3);
  large.add_tokens(5);
  const ReplicaGauges gauges{.running = 2};
  const std::string page =
      metrics_page({{"small", &small, {gauges}}, {"large", &large, {gauges, gauges}}});
  EXPECT_THAT(page, HasSubstr("# TYPE vllm:generation_tokens_total counter\n"
                              "vllm:generation_tokens_total{model_name=\"small\"} 3\n"
                              "vllm:generation_tokens_total{model_name=\"large\"} 5\n"));
  EXPECT_THAT(page, HasSubstr("vllm:num_requests_running{engine=\"0\",model_name=\"small\"} 2\n"
                              "vllm:num_requests_running{engine=\"0\",model_name=\"large\"} 2\n"
                              "vllm:num_requests_running{engine=\"1\",model_name=\"large\"} 2\n"));
}

}  // namespace
}  // namespace foretoken
