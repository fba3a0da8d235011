// Alibaba's traces of the model service Bailian (github.com/alibaba-edu/qwen-bailian-usagetraces-
// anon, described in the AIPerf manual's "Bailian traces"): one request a line with its time in
// seconds, lengths in tokens, a hash for each block of 16 prompt tokens, and the request that it
// follows up on, whose answer it waits for. A prompt is whole, the history that the service kept
// included. What a part of a file follows up on may be in another part.
#include "workloads/requests/trace_fields.hpp"
#include "workloads/requests/trace_format.hpp"

namespace foretoken {
namespace {

constexpr int bailian_block_tokens = 16;

class Bailian final : public LineTraceFormat {
 public:
  bool recognises(const TraceHead& head) const override {
    return head.first_line.starts_with('{') &&
           head.first_line.find("\"parent_chat_id\"") != std::string_view::npos;
  }
  int prefix_block_tokens() const override { return bailian_block_tokens; }

 protected:
  TraceRow parse(std::string_view line) const override {
    const Value row = json_line(line);
    TraceRow out{time_ns(row, "timestamp", 1.0), token_count(row, "input_length"),
                 token_count(row, "output_length"), hashes(row, "hash_ids")};
    const auto whole = static_cast<std::size_t>(out.prompt_tokens / bailian_block_tokens);
    if (out.prefix_hashes.size() != whole)  // the last, part full, may lack
      expect_blocks(out.prefix_hashes, out.prompt_tokens, bailian_block_tokens, "hash_ids");
    TracePlace place{.id = name_of(row, "chat_id"), .is_not_earlier = true, .may_be_cut = true};
    if (place.id.empty()) throw BadLine("lacks \"chat_id\"");
    const std::string parent = name_of(row, "parent_chat_id");
    if (!parent.empty() && parent != "-1") place.waits_for.push_back({parent});
    out.place = std::move(place);
    return out;
  }
};

}  // namespace

std::unique_ptr<TraceFormat> bailian_trace() { return std::make_unique<Bailian>(); }

}  // namespace foretoken
