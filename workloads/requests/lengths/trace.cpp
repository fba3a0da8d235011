// The lengths of a recorded trace. With arrivals = "trace" each request has its own row's; with
// generated arrivals request i has those of row i, beginning again at the end of the trace. Prompt
// and output therefore stay a pair if both come from the trace.
#include "workloads/requests/length_distribution.hpp"

namespace foretoken {
namespace {

class TraceLengths final : public LengthDistribution {
 public:
  explicit TraceLengths(const LengthInputs& inputs) : inputs_(inputs) {}

  std::int64_t sample(RandomStream&, std::size_t trace_row) const override {
    const std::size_t row = trace_row % inputs_.trace->size();
    return inputs_.of == LengthOf::prompt ? inputs_.trace->prompt_tokens(row)
                                          : inputs_.trace->output_tokens(row);
  }
  Value resolved() const override { return ValueObject{{"distribution", "trace"}}; }
  bool uses_trace() const override { return true; }

 private:
  LengthInputs inputs_;
};

}  // namespace

LengthRegistry::Entry trace_lengths() {
  return {"trace", "the lengths of a recorded trace, row by row",
          [](TableReader& table, const LengthInputs& inputs) {
            if (inputs.trace == nullptr) {
              table.fail("distribution", "\"trace\" needs trace = \"path\" in [workload]");
            }
            return std::make_unique<TraceLengths>(inputs);
          }};
}

}  // namespace foretoken
