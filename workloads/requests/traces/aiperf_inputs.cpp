// inputs.json of AIPerf and genai-perf: the requests that were prepared, by session. Prompts are
// text, so their tokens are an estimate (prompt_text.hpp); answers are as long as they were allowed
// to be. There are no arrivals.
#include "workloads/requests/completion_lengths.hpp"
#include "workloads/requests/trace_fields.hpp"
#include "workloads/requests/trace_format.hpp"

namespace foretoken {
namespace {

class AiperfInputs final : public JsonTraceFormat {
 public:
  bool recognises(const TraceHead& head) const override {
    return head.has("\"data\"") && (head.has("\"payloads\"") || head.has("\"payload\""));
  }
  bool has_arrivals() const override { return false; }

 protected:
  JsonRecords records() const override { return {.path = {"data", "*"}}; }
  void parse(const Value& record, TraceSink& sink) override {
    if (!record.is_object()) throw BadLine("expected an object with payloads");
    const bool is_older = record.find("payloads") == nullptr;
    for (const Value& payload : list(record, is_older ? "payload" : "payloads"))
      sink.add(asked_lengths(payload), record.position.line);
  }
};

}  // namespace

std::unique_ptr<TraceFormat> aiperf_inputs_trace() { return std::make_unique<AiperfInputs>(); }

}  // namespace foretoken
