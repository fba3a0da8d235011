// A small report made by hand, for tests: every part filled in, every number easy to follow into
// the outputs.
#pragma once

#include "sim/report/report.hpp"

namespace foretoken {

inline Report sample_report() {
  Report report;
  report.title = "Tiny 1B (bf16) on 2x Imaginary GPU";
  report.scenario =
      ValueObject{{"model", ValueObject{{"name", "tiny-1b"}}}, {"rate", 0.12345678901234566}};
  report.seed = 7;
  report.version = "0.1.0";
  report.requests = {.arrived = 4,
                     .completed = 2,
                     .failed = 1,
                     .unfinished = 1,
                     .skipped_lines = 1,
                     .failed_by = {{"context_length", 1}}};
  report.duration_s = 8;
  report.throughput = {
      .requests_per_s = 0.25, .input_tokens_per_s = 1536, .output_tokens_per_s = 100.0 / 3};
  report.whole_run = {
      .requests_per_s = 0.125, .input_tokens_per_s = 768, .output_tokens_per_s = 50.0 / 3};
  report.steady = {SteadyBasis::arrivals, 0, 6, true};
  report.drain = {.duration_s = 2, .requests = 1, .output_tokens = 12};
  report.gpus = 2;
  report.ttft_ms = {.mean = 50, .p50 = 48.3, .p90 = 60, .p95 = 61.5, .p99 = 62, .max = 1234.5};
  report.tpot_ms = {.mean = 7, .p50 = 6.5, .p90 = 7.25, .p95 = 7.5, .p99 = 8, .max = 9};
  report.itl_ms = {.mean = 0.05, .p50 = 0.04, .p90 = 0.06, .p95 = 0.07, .p99 = 0.08, .max = 0.1};
  report.e2e_ms = {.mean = 2000, .p50 = 1500, .p90 = 2500, .p95 = 3000, .p99 = 3500, .max = 4000};
  report.slo = {.targets = {"ttft <= 500 ms", "tpot <= 50 ms"},
                .percentile = 99,
                .attainment = 0.5,
                .goodput_per_s = 0.25,
                .met = false,
                .ttft_ms = 500,
                .tpot_ms = 50,
                .e2e_ms = std::nullopt};
  report.kv = {.blocks = 1000, .block_tokens = 16, .peak = 0.5, .mean = 0.25, .preemptions = 1};
  report.gpu_busy = 0.75;
  report.batch_mean = 1.5;
  report.batch_max = 3;
  report.iterations = 1234;
  report.time_by = {{"gemm", 6}, {"attention", 1.5}, {"all_reduce", 0.5}};
  report.origins = {{"analytic", 20}, {"measured", 3}};
  report.memory_bytes = {{"weights", std::int64_t{2} << 30}, {"kv_cache", std::int64_t{8} << 30}};
  report.cost = Report::Cost{.per_hour = 6.5, .per_million_output_tokens = 54.17};
  report.energy_j_per_token = 12.345;
  report.timeline = {
      {0, 1, 0, 0.125, 10}, {2, 2, 0, 0.25, 20}, {4, 3, 4, 0.5, 30}, {6, 0, 0, 0, 0}};
  report.timeline_interval_s = 2;
  report.event_fingerprint = 0xabcdef;
  RequestRow completed;
  completed.prompt_tokens = 100;
  completed.output_tokens = 20;
  completed.scheduled_s = 0.0005;
  completed.first_token_s = 0.05;
  completed.finished_s = 2;
  completed.ttft_ms = 50;
  completed.tpot_ms = 102.6315789;
  completed.e2e_ms = 2000;
  completed.preemptions = 1;
  completed.status = "completed";
  completed.ended_s = 2;
  RequestRow unfinished;
  unfinished.id = 1;
  unfinished.replica = 1;
  unfinished.arrival_s = 1.25;
  unfinished.scheduled_s = 1.3;
  unfinished.prompt_tokens = 200;
  unfinished.status = "unfinished";
  unfinished.ended_s = 8;
  unfinished.priority = 3;
  RequestRow failed;
  failed.id = 2;
  failed.arrival_s = 1.0 / 3;
  failed.prompt_tokens = 70000;
  failed.status = "failed";
  failed.ended_s = 1.0 / 3;
  failed.reason = "context_length";
  report.rows = {completed, unfinished, failed};
  return report;
}

}  // namespace foretoken
