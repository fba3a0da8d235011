// AIPerf's profile_export.jsonl: an object a request with metadata, metrics and error. Requests of
// the warm-up, cancelled and failed ones are left out.
#include "workloads/requests/trace_fields.hpp"
#include "workloads/requests/trace_format.hpp"

namespace foretoken {
namespace {

/// A metric is {"value": 550, "unit": "tokens"}.
const Value& metric(const Value& row, std::string_view name) {
  const Value* value = find_member(row, fmt::format("metrics.{}.value", name));
  if (value == nullptr) throw BadLine(fmt::format("lacks metrics.{}.value", name));
  return *value;
}

bool was_profiled(const Value& row) {
  const Value* phase = find_member(row, "metadata.benchmark_phase");
  const Value* cancelled = find_member(row, "metadata.was_cancelled");
  const auto* name = phase == nullptr ? nullptr : std::get_if<std::string>(&phase->data);
  const auto* is_cancelled = cancelled == nullptr ? nullptr : std::get_if<bool>(&cancelled->data);
  return row.find("error") == nullptr && (name == nullptr || *name != "warmup") &&
         (is_cancelled == nullptr || !*is_cancelled);
}

class Aiperf final : public LineTraceFormat {
 public:
  bool recognises(const TraceHead& head) const override {
    return head.first_line.starts_with('{') && head.has("\"request_start_ns\"");
  }

 protected:
  TraceRow parse(std::string_view line) const override {
    const Value row = json_line(line);
    if (!was_profiled(row)) throw FailedRequest();
    const Value& metadata = member(row, "metadata");
    if (!metadata.is_object()) throw BadLine("metadata must be an object");
    return {time_ns(metadata, "request_start_ns", 1e-9),
            token_count_of(metric(row, "input_sequence_length"), "input_sequence_length"),
            token_count_of(metric(row, "output_sequence_length"), "output_sequence_length"),
            {}};
  }
};

}  // namespace

std::unique_ptr<TraceFormat> aiperf_trace() { return std::make_unique<Aiperf>(); }

}  // namespace foretoken
