// AIPerf's profile_export.jsonl as a trace (aiperf_record.hpp). Requests of the warm-up, cancelled
// and failed ones are left out.
#include "workloads/requests/aiperf_record.hpp"
#include "workloads/requests/trace_format.hpp"

namespace foretoken {
namespace {

class Aiperf final : public LineTraceFormat {
 public:
  bool recognises(const TraceHead& head) const override {
    return head.first_line.starts_with('{') && is_aiperf_record(head.beginning);
  }

 protected:
  TraceRow parse(std::string_view line) const override {
    const std::optional<AiperfRecord> record = read_aiperf_record(line);
    if (!record) throw FailedRequest();
    return {record->sent_ns, record->prompt_tokens, record->output_tokens, {}};
  }
};

}  // namespace

std::unique_ptr<TraceFormat> aiperf_trace() { return std::make_unique<Aiperf>(); }

}  // namespace foretoken
