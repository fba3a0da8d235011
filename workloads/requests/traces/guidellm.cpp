// GuideLLM's benchmarks.json: the requests that succeeded, of all benchmarks in it. Versions differ
// in where they keep lengths and dates; all known places are looked at.
#include <array>

#include "workloads/requests/trace_fields.hpp"
#include "workloads/requests/trace_format.hpp"

namespace foretoken {
namespace {

const Value& first_of(const Value& request, std::span<const std::string_view> paths) {
  for (const std::string_view path : paths) {
    if (const Value* value = find_member(request, path)) return *value;
  }
  throw BadLine(fmt::format("lacks \"{}\"", paths.front()));
}

class Guidellm final : public JsonTraceFormat {
 public:
  bool recognises(const TraceHead& head) const override { return head.has("\"benchmarks\""); }

 protected:
  JsonRecords records() const override {
    return {.path = {"benchmarks", "*", "requests", "successful", "*"},
            .skipped = {"output", "reasoning_output", "request_args", "tool_calls"}};
  }
  void parse(const Value& record, TraceSink& sink) override {
    constexpr auto dates = std::to_array<std::string_view>(
        {"request_start_time", "start_time", "info.timings.request_start"});
    constexpr auto prompts = std::to_array<std::string_view>(
        {"prompt_tokens", "input_metrics.total_tokens", "input_metrics.text_tokens"});
    constexpr auto outputs = std::to_array<std::string_view>(
        {"output_tokens", "output_metrics.total_tokens", "output_metrics.text_tokens"});
    sink.add(TraceRow{time_ns_of(first_of(record, dates), dates.front(), 1.0),
                      token_count_of(first_of(record, prompts), prompts.front()),
                      token_count_of(first_of(record, outputs), outputs.front()),
                      {}},
             record.position.line);
  }
};

}  // namespace

std::unique_ptr<TraceFormat> guidellm_trace() { return std::make_unique<Guidellm>(); }

}  // namespace foretoken
