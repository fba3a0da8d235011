// JSON lines, for traces from one's own logs: one object a line with arrival_s, prompt_tokens,
// output_tokens and, if prompts share prefixes, prefix_hashes (an integer for each full or part
// block of the prompt, covering everything before it), model, if a fleet has several, and images
// (trace_media.hpp). Other members are ignored.
#include "workloads/requests/trace_fields.hpp"
#include "workloads/requests/trace_format.hpp"

namespace foretoken {
namespace {

class Jsonl final : public LineTraceFormat {
 public:
  bool recognises(const TraceHead& head) const override {
    return head.first_line.starts_with('{') &&
           head.first_line.find("\"prompt_tokens\"") != std::string_view::npos;
  }

  TraceRow parse(std::string_view line) const override {
    const Value row = json_line(line);
    const int prompt_tokens = token_count(row, "prompt_tokens");
    return {time_ns(row, "arrival_s", 1.0), prompt_tokens, token_count(row, "output_tokens"),
            hashes(row, "prefix_hashes"),   std::nullopt,  name_of(row, "model"),
            trace_media(row, prompt_tokens)};
  }
};

}  // namespace

std::unique_ptr<TraceFormat> jsonl_trace() { return std::make_unique<Jsonl>(); }

}  // namespace foretoken
