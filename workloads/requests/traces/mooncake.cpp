// Mooncake's traces (github.com/kvcache-ai/Mooncake): one JSON object a line with a time in
// milliseconds, lengths in tokens, and a hash for each block of 512 prompt tokens (the last may be
// part full) that covers everything before it, so equal hashes mean equal prefixes.
#include "workloads/requests/trace_fields.hpp"
#include "workloads/requests/trace_format.hpp"

namespace foretoken {
namespace {

constexpr int block_tokens = 512;

class Mooncake final : public LineTraceFormat {
 public:
  bool recognises(const TraceHead& head) const override {
    return head.first_line.starts_with('{') &&
           head.first_line.find("\"input_length\"") != std::string_view::npos;
  }

  TraceRow parse(std::string_view line) const override {
    const Value row = json_line(line);
    TraceRow out{time_ns(row, "timestamp", 1e-3), token_count(row, "input_length"),
                 token_count(row, "output_length"), hashes(row, "hash_ids")};
    const auto blocks =
        (static_cast<std::size_t>(out.prompt_tokens) + block_tokens - 1) / block_tokens;
    if (!out.prefix_hashes.empty() && out.prefix_hashes.size() != blocks) {
      throw BadLine(fmt::format("expected {} hash_ids for {} tokens in blocks of {}, found {}",
                                blocks, out.prompt_tokens, block_tokens, out.prefix_hashes.size()));
    }
    return out;
  }
};

}  // namespace

std::unique_ptr<TraceFormat> mooncake_trace() { return std::make_unique<Mooncake>(); }

}  // namespace foretoken
