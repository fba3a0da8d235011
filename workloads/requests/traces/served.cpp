// JSON lines as a benchmark records a served run (workloads/measurements/served_run.hpp):
// arrival_time in seconds on any clock, input_toks, output_toks, model if there are several, images
// if there are any (trace_media.hpp), and if prompts share prefixes prefix_hashes as in jsonl.cpp
// with prefix_block_tokens, the same in all lines; what became of a request is ignored.
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
            hashes_of(row),
            std::nullopt,
            name_of(row, "model"),
            trace_media(row, prompt_tokens)};
  }

  int prefix_block_tokens() const override {
    return block_tokens_.value_or(TraceFormat::prefix_block_tokens());
  }

 private:
  std::vector<std::uint64_t> hashes_of(const Value& row) const {
    std::vector<std::uint64_t> found = hashes(row, "prefix_hashes");
    if (row.find("prefix_block_tokens") == nullptr) return found;
    const int block_tokens = token_count(row, "prefix_block_tokens");
    if (block_tokens_.value_or(block_tokens) != block_tokens) {
      throw BadLine(fmt::format("prefix_block_tokens must be {}, as in lines before, found {}",
                                *block_tokens_, block_tokens));
    }
    block_tokens_ = block_tokens;
    return found;
  }

  mutable std::optional<int> block_tokens_;  // of the lines read so far
};

}  // namespace

std::unique_ptr<TraceFormat> served_trace() { return std::make_unique<Served>(); }

}  // namespace foretoken
