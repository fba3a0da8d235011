// The results of `python -m sglang.bench_serving --output-details`, an object a run, to which each
// run adds its own. They say how long requests were and at which rate they came, but not when.
#include "workloads/requests/bench_result.hpp"

namespace foretoken {
namespace {

class SglangBench final : public JsonTraceFormat {
 public:
  bool recognises(const TraceHead& head) const override {
    return head.has("\"dataset_name\"") && head.has("\"completed\"");
  }
  bool has_arrivals() const override { return false; }

 protected:
  JsonRecords records() const override { return bench_results(); }
  void parse(const Value& record, TraceSink& sink) override {
    add_bench_result(record, "", "record with --output-details", sink);
  }
};

}  // namespace

std::unique_ptr<TraceFormat> sglang_bench_trace() { return std::make_unique<SglangBench>(); }

}  // namespace foretoken
