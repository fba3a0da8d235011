// The trace formats that come with Foretoken, the more specific before the general.
#include "workloads/requests/trace_format.hpp"

namespace foretoken {

std::unique_ptr<TraceFormat> azure_trace();
std::unique_ptr<TraceFormat> weka_trace();
std::unique_ptr<TraceFormat> agentic_mooncake_trace();
std::unique_ptr<TraceFormat> bailian_trace();
std::unique_ptr<TraceFormat> mooncake_trace();
std::unique_ptr<TraceFormat> csv_trace();
std::unique_ptr<TraceFormat> jsonl_trace();
std::unique_ptr<TraceFormat> served_trace();
std::unique_ptr<TraceFormat> vllm_bench_trace();
std::unique_ptr<TraceFormat> sglang_bench_trace();
std::unique_ptr<TraceFormat> guidellm_trace();
std::unique_ptr<TraceFormat> aiperf_trace();
std::unique_ptr<TraceFormat> aiperf_inputs_trace();
std::unique_ptr<TraceFormat> openai_batch_trace();
std::unique_ptr<TraceFormat> litellm_trace();
std::unique_ptr<TraceFormat> burstgpt_trace();
std::unique_ptr<TraceFormat> sharegpt_trace();
std::unique_ptr<TraceFormat> conversations_trace();

TraceFormatRegistry trace_format_registry() {
  TraceFormatRegistry registry("trace format");
  registry.add("azure",
               "CSV of Azure's LLM inference traces: TIMESTAMP,ContextTokens,GeneratedTokens",
               azure_trace);
  registry.add("agentic_mooncake",
               "JSON lines of Dynamo and AISimulate: calls of agents that wait for each other",
               agentic_mooncake_trace);
  registry.add("bailian",
               "JSON lines of Alibaba's Bailian traces: chat_id, parent_chat_id, timestamp (s)",
               bailian_trace);
  registry.add("mooncake",
               "JSON lines of Mooncake's traces: timestamp (ms), input_length, "
               "output_length, hash_ids; sessions by session_id and delay",
               mooncake_trace);
  registry.add("weka", "JSON of Weka's and AgentX's coding agents: calls with nested subagents",
               weka_trace);
  registry.add("burstgpt", "BurstGPT's CSV: Timestamp, Request tokens, Response tokens",
               burstgpt_trace);
  registry.add("vllm_bench", "result of vllm bench serve --save-result --save-detailed",
               vllm_bench_trace);
  registry.add("sglang_bench", "result of sglang.bench_serving --output-details (lengths)",
               sglang_bench_trace);
  registry.add("guidellm", "GuideLLM's benchmarks.json", guidellm_trace);
  registry.add("aiperf", "AIPerf's profile_export.jsonl", aiperf_trace);
  registry.add("aiperf_inputs", "inputs.json of AIPerf and genai-perf (lengths, prompts estimated)",
               aiperf_inputs_trace);
  registry.add("openai_batch", "OpenAI batch files, sent or returned (lengths)",
               openai_batch_trace);
  registry.add("litellm", "LiteLLM's proxy or spend logs, JSON", litellm_trace);
  registry.add("sharegpt", "ShareGPT's conversations, JSON (lengths, estimated)", sharegpt_trace);
  registry.add(
      "conversations",
      "JSON of messages with roles, all turns: vLLM's multi_turn, WildChat, LMSYS (lengths "
      "estimated)",
      conversations_trace);
  registry.add("csv", "CSV with a header: arrival_s,prompt_tokens,output_tokens", csv_trace);
  registry.add("jsonl", "JSON lines: {\"arrival_s\":…, \"prompt_tokens\":…, \"output_tokens\":…}",
               jsonl_trace);
  registry.add("served",
               "JSON lines of a recorded run: {\"arrival_time\":…, \"input_toks\":…, "
               "\"output_toks\":…}",
               served_trace);
  return registry;
}

}  // namespace foretoken
