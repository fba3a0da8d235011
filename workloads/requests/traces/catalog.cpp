// The trace formats that come with Foretoken, the more specific before the general.
#include "workloads/requests/trace_format.hpp"

namespace foretoken {

std::unique_ptr<TraceFormat> azure_trace();
std::unique_ptr<TraceFormat> mooncake_trace();
std::unique_ptr<TraceFormat> csv_trace();
std::unique_ptr<TraceFormat> jsonl_trace();
std::unique_ptr<TraceFormat> served_trace();
std::unique_ptr<TraceFormat> client_result_trace();

TraceFormatRegistry trace_format_registry() {
  TraceFormatRegistry registry("trace format");
  registry.add("azure",
               "CSV of Azure's LLM inference traces: TIMESTAMP,ContextTokens,GeneratedTokens",
               azure_trace);
  registry.add("mooncake",
               "JSON lines of Mooncake's traces: timestamp (ms), input_length, "
               "output_length, hash_ids",
               mooncake_trace);
  registry.add("csv", "CSV with a header: arrival_s,prompt_tokens,output_tokens", csv_trace);
  registry.add("jsonl", "JSON lines: {\"arrival_s\":…, \"prompt_tokens\":…, \"output_tokens\":…}",
               jsonl_trace);
  registry.add("served",
               "JSON lines of a recorded run: {\"arrival_time\":…, \"input_toks\":…, "
               "\"output_toks\":…}",
               served_trace);
  registry.add("client_result",
               "results of vllm bench serve (--save-detailed) and sglang.bench_serving "
               "(--output-details)",
               client_result_trace);
  return registry;
}

}  // namespace foretoken
