// AIPerf's records of single requests. Dates count from the simulated clock's beginning.
#include <fmt/format.h>

#include <cmath>
#include <iterator>

#include "sim/report/tool_samples.hpp"

namespace foretoken {
namespace {

std::int64_t whole_ns(double seconds) { return std::llround(seconds * 1e9); }

void append_metric(fmt::memory_buffer& out, std::string_view name, std::string_view value,
                   std::string_view unit) {
  const bool is_first = out.size() > 0 && out[out.size() - 1] == '{';
  fmt::format_to(std::back_inserter(out), "{}\"{}\": {{\"value\": {}, \"unit\": \"{}\"}}",
                 is_first ? "" : ", ", name, value, unit);
}

void append_answer(fmt::memory_buffer& out, const RequestRow& row, const TokenGaps& gaps) {
  const auto ms = [](double value) { return fmt::format("{:.6f}", value); };
  const std::string tokens = fmt::format("{}", row.output_tokens);
  append_metric(out, "input_sequence_length", fmt::format("{}", row.prompt_tokens), "tokens");
  append_metric(out, "time_to_first_token", ms(*row.ttft_ms), "ms");
  append_metric(out, "request_latency", ms(*row.e2e_ms), "ms");
  append_metric(out, "output_token_count", tokens, "tokens");
  append_metric(out, "output_sequence_length", tokens, "tokens");
  if (row.output_tokens < 2) return;
  const double gap = (*row.e2e_ms - *row.ttft_ms) / static_cast<double>(row.output_tokens - 1);
  append_metric(out, "inter_token_latency", ms(gap), "ms");
  if (gap > 0)
    append_metric(out, "output_token_throughput_per_user", ms(1e3 / gap), "tokens/sec/user");
  if (!gaps.is_whole) return;
  std::string pieces;
  for (const float each : gaps_of(gaps, row))
    pieces += fmt::format("{}{:.3f}", pieces.empty() ? "" : ", ", 1e3 * static_cast<double>(each));
  append_metric(out, "inter_chunk_latency", "[" + pieces + "]", "ms");
}

void append_request(fmt::memory_buffer& out, const RequestRow& row, const TokenGaps& gaps,
                    double warmup_s) {
  const bool is_answered = row.status == "completed" && row.ttft_ms && row.e2e_ms;
  const bool is_cancelled = row.status == "cancelled" || row.status == "timed_out";
  fmt::format_to(std::back_inserter(out),
                 "{{\"metadata\": {{\"session_num\": {0}, \"x_request_id\": \"request-{0}\", "
                 "\"x_correlation_id\": \"request-{0}\", \"conversation_id\": null, "
                 "\"turn_index\": 0, \"request_start_ns\": {1}, \"request_ack_ns\": null, "
                 "\"request_end_ns\": {2}, \"worker_id\": \"replica-{3}\", "
                 "\"record_processor_id\": \"foretoken\", \"benchmark_phase\": \"{4}\", "
                 "\"was_cancelled\": {5}, \"cancellation_time_ns\": {6}}}, \"metrics\": {{",
                 row.id, whole_ns(row.arrival_s), whole_ns(row.ended_s), row.replica,
                 row.arrival_s < warmup_s ? "warmup" : "profiling", is_cancelled,
                 is_cancelled ? fmt::format("{}", whole_ns(row.ended_s)) : "null");
  if (is_answered) {
    append_answer(out, row, gaps);
    out.append(std::string_view("}, \"error\": null}\n"));
    return;
  }
  append_metric(out, "error_isl", fmt::format("{}", row.prompt_tokens), "tokens");
  fmt::format_to(std::back_inserter(out),
                 "}}, \"error\": {{\"code\": {}, \"type\": \"{}\", \"message\": \"{}\"}}}}\n",
                 is_cancelled               ? 499
                 : row.status == "rejected" ? 429
                                            : 500,
                 row.status, row.reason.empty() ? row.status : row.reason);
}

}  // namespace

std::string aiperf_jsonl(const Report& report, const TokenGaps& gaps) {
  fmt::memory_buffer out;
  for (const RequestRow& row : report.rows) append_request(out, row, gaps, report.warmup_s);
  return fmt::to_string(out);
}

}  // namespace foretoken
