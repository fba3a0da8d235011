// JSON lines as a benchmark records a served run (workloads/measurements/served_run.hpp):
// arrival_time in seconds on any clock, input_toks, output_toks, model if there are several, images
// if there are any (trace_media.hpp); what became of a request is ignored.
#include "workloads/requests/trace_fields.hpp"
#include "workloads/requests/trace_format.hpp"

namespace foretoken {
namespace {

class Served final : public LineTraceFormat {
 public:
  bool recognises(const TraceHead& head) const override {
    return head.first_line.starts_with('{') &&
           head.first_line.find("\"input_toks\"") != std::string_view::npos;
  }

  TraceRow parse(std::string_view line) const override {
    const Value row = json_line(line);
    const int prompt_tokens = token_count(row, "input_toks");
    return {time_ns(row, "arrival_time", 1.0),
            prompt_tokens,
            token_count(row, "output_toks"),
            {},
            std::nullopt,
            name_of(row, "model"),
            trace_media(row, prompt_tokens)};
  }
};

}  // namespace

std::unique_ptr<TraceFormat> served_trace() { return std::make_unique<Served>(); }

}  // namespace foretoken
