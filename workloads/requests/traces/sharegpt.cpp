// ShareGPT's conversations, a list of {"id", "conversations": [{"from", "value"}, ...]}. As the
// load tools of vLLM and SGLang do, the first two turns of each are taken: what was asked and what
// was answered. Both are text, so tokens are an estimate (prompt_text.hpp). There are no arrivals.
#include "workloads/requests/prompt_text.hpp"
#include "workloads/requests/trace_fields.hpp"
#include "workloads/requests/trace_format.hpp"

namespace foretoken {
namespace {

int turn_tokens(const Value& turn) {
  const Value* text = turn.is_object() ? turn.find("value") : nullptr;
  if (text == nullptr || !text->is_string())
    throw BadLine("a turn of a conversation must be {\"from\": ..., \"value\": \"text\"}");
  return static_cast<int>(text_tokens(std::get<std::string>(text->data)));
}

class Sharegpt final : public JsonTraceFormat {
 public:
  bool recognises(const TraceHead& head) const override {
    return head.has("\"conversations\"") && head.has("\"from\"");
  }
  bool has_arrivals() const override { return false; }

 protected:
  JsonRecords records() const override { return {.path = {"*"}}; }
  void parse(const Value& record, TraceSink& sink) override {
    if (!record.is_object())
      throw BadLine(fmt::format("expected {{...}}, found {}", type_name(record)));
    const ValueArray& turns = list(record, "conversations");
    if (turns.size() < 2) throw FailedRequest();  // nobody answered
    sink.add(TraceRow{0, turn_tokens(turns[0]), turn_tokens(turns[1]), {}}, record.position.line);
  }
};

}  // namespace

std::unique_ptr<TraceFormat> sharegpt_trace() { return std::make_unique<Sharegpt>(); }

}  // namespace foretoken
