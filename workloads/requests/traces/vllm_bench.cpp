// The result of `vllm bench serve --save-result --save-detailed`: dates on the client's monotonic
// clock, lengths as the client's tokenizer counts them. Runs without details have totals alone, and
// those of clients before January 2026 no dates.
#include "workloads/requests/bench_result.hpp"

namespace foretoken {
namespace {

class VllmBench final : public JsonTraceFormat {
 public:
  bool recognises(const TraceHead& head) const override {
    return head.has("\"model_id\"") && head.has("\"completed\"");
  }

 protected:
  JsonRecords records() const override { return bench_results(); }
  void parse(const Value& record, TraceSink& sink) override {
    add_bench_result(record, "start_times",
                     "record with --save-result --save-detailed and a client of January 2026 or "
                     "later",
                     sink);
  }
};

}  // namespace

std::unique_ptr<TraceFormat> vllm_bench_trace() { return std::make_unique<VllmBench>(); }

}  // namespace foretoken
