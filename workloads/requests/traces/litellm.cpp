// LiteLLM's logs, in lines or as one list: the payload that its proxy logs (startTime in Unix time)
// and its spend logs (startTime as a date). Calls that failed, that a cache answered, or that
// generated nothing (embeddings) never were requests to an engine that generates; they are left
// out.
#include "workloads/requests/completion_lengths.hpp"
#include "workloads/requests/trace_date.hpp"
#include "workloads/requests/trace_fields.hpp"
#include "workloads/requests/trace_format.hpp"

namespace foretoken {
namespace {

bool is_text(const Value* value, std::string_view text) {
  const auto* told = value == nullptr ? nullptr : std::get_if<std::string>(&value->data);
  return told != nullptr && *told == text;
}

bool was_cached(const Value& call) {
  const Value* hit = call.find("cache_hit");
  const auto* told = hit == nullptr ? nullptr : std::get_if<bool>(&hit->data);
  return (told != nullptr && *told) || is_text(hit, "True");
}

class Litellm final : public JsonTraceFormat {
 public:
  bool recognises(const TraceHead& head) const override {
    return head.has("\"startTime\"") && head.has("\"completion_tokens\"");
  }

 protected:
  JsonRecords records() const override {
    return {.path = {"*"}, .skipped = {"messages", "response", "proxy_server_request"}};
  }
  void parse(const Value& record, TraceSink& sink) override {
    if (!record.is_object())
      throw BadLine(fmt::format("expected {{...}}, found {}", type_name(record)));
    if (is_text(record.find("status"), "failure") || was_cached(record)) throw FailedRequest();
    TraceRow row = answered_lengths(record);
    const Value& start = member(record, "startTime");
    const auto* date = std::get_if<std::string>(&start.data);
    row.arrival_ns =
        date != nullptr ? date_ns(*date, "startTime") : time_ns_of(start, "startTime", 1.0);
    sink.add(row, record.position.line);
  }
};

}  // namespace

std::unique_ptr<TraceFormat> litellm_trace() { return std::make_unique<Litellm>(); }

}  // namespace foretoken
