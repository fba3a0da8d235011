// Mooncake's traces (github.com/kvcache-ai/Mooncake): one JSON object a line with a time in
// milliseconds, lengths in tokens, and a hash for each block of 512 prompt tokens (the last may be
// part full) that covers everything before it, so equal hashes mean equal prefixes.
//
// AIPerf and Dynamo add sessions ("Trace Replay with Mooncake Traces", docs.nvidia.com/aiperf):
// lines of one session_id follow each other, each `delay` ms after the answer before, or, with a
// timestamp, not before it. A session's later lines need no timestamp. With hash_ids a prompt is
// told whole, without them what a turn adds.
#include <unordered_set>

#include "workloads/requests/trace_fields.hpp"
#include "workloads/requests/trace_format.hpp"

namespace foretoken {
namespace {

constexpr int mooncake_block_tokens = 512;

class Mooncake final : public LineTraceFormat {
 public:
  bool recognises(const TraceHead& head) const override {
    return head.first_line.starts_with('{') &&
           head.first_line.find("\"input_length\"") != std::string_view::npos;
  }
  bool has_arrivals() const override { return has_times_.value_or(true); }

 protected:
  TraceRow parse(std::string_view line) const override {
    const Value row = json_line(line);
    TraceRow out{0, token_count(row, "input_length"), token_count(row, "output_length"),
                 hashes(row, "hash_ids")};
    if (row.find("session_id") != nullptr) out.place = session_turn(row, out);
    if (!out.place || out.place->has_time) out.arrival_ns = time_ns(row, "timestamp", 1e-3);
    expect_blocks(out.prefix_hashes, out.prompt_tokens, mooncake_block_tokens, "hash_ids");
    return out;
  }

 private:
  TracePlace session_turn(const Value& row, const TraceRow& out) const {
    TracePlace place{.trajectory = name_of(row, "session_id"),
                     .after_previous_ns = 0,
                     .has_time = row.find("timestamp") != nullptr,
                     .adds_to_text = out.prefix_hashes.empty()};
    if (place.trajectory.empty()) throw BadLine("session_id must be a name");
    if (row.find("delay") != nullptr)
      place.after_previous_ns = delay_ns(row, "delay");
    else
      place.is_not_earlier = place.has_time;
    if (!sessions_.insert(place.trajectory).second) return place;
    if (place.has_time != has_times_.value_or(place.has_time)) {
      throw BadLine(place.has_time ? "has a timestamp, which earlier sessions lack"
                                   : "lacks \"timestamp\", which earlier sessions have");
    }
    has_times_ = place.has_time;
    return place;
  }

  mutable std::unordered_set<std::string> sessions_;  // that began
  mutable std::optional<bool> has_times_;             // of their first lines
};

}  // namespace

std::unique_ptr<TraceFormat> mooncake_trace() { return std::make_unique<Mooncake>(); }

}  // namespace foretoken
