// JSON lines as a benchmark records a served run (workloads/measurements/served_run.hpp):
// arrival_time in seconds on any clock, input_toks, output_toks; what became of a request is
// ignored.
#include "workloads/requests/trace_fields.hpp"
#include "workloads/requests/trace_format.hpp"

namespace foretoken {
namespace {

class Served final : public TraceFormat {
 public:
  bool recognises(std::string_view first_line) const override {
    return first_line.starts_with('{') &&
           first_line.find("\"input_toks\"") != std::string_view::npos;
  }

  bool take_header(std::string_view) override { return false; }

  TraceRow parse(std::string_view line) const override {
    const Value row = json_line(line);
    return {time_ns(row, "arrival_time", 1.0),
            token_count(row, "input_toks"),
            token_count(row, "output_toks"),
            {}};
  }
};

}  // namespace

std::unique_ptr<TraceFormat> served_trace() { return std::make_unique<Served>(); }

}  // namespace foretoken
