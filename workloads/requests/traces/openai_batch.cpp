// OpenAI's batch files, a request a line: those sent in (prompts are text, so their tokens are an
// estimate; answers are as long as allowed) or those that came back, whose usage is exact. A batch
// has no arrivals: all of it is there at once.
#include "workloads/requests/completion_lengths.hpp"
#include "workloads/requests/trace_fields.hpp"
#include "workloads/requests/trace_format.hpp"

namespace foretoken {
namespace {

class OpenaiBatch final : public LineTraceFormat {
 public:
  bool recognises(const TraceHead& head) const override {
    return head.first_line.starts_with('{') && head.has("\"custom_id\"");
  }
  bool has_arrivals() const override { return false; }

 protected:
  TraceRow parse(std::string_view line) const override {
    const Value row = json_line(line);
    if (const Value* body = row.find("body")) return asked_lengths(*body);
    if (row.find("error") != nullptr) throw FailedRequest();
    const Value& response = member(row, "response");
    const Value* status = find_member(response, "status_code");
    if (status != nullptr && number_of(status) != 200.0) throw FailedRequest();
    const Value* usage = find_member(response, "body.usage");
    if (usage == nullptr) throw BadLine("lacks response.body.usage");
    return answered_lengths(*usage);
  }
};

}  // namespace

std::unique_ptr<TraceFormat> openai_batch_trace() { return std::make_unique<OpenaiBatch>(); }

}  // namespace foretoken
