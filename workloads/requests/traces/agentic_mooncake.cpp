// Agentic Mooncake: calls of agents with hashes of their prompts and the calls that they wait for,
// as Dynamo and AISimulate write it (docs.nvidia.com/dynamo, "Agent Trace Replay"). Version 1 has
// no header: `wait_for` names calls, `delay` and `tool_wait_ms` pass after the last of their ends,
// a call that waits for none comes at its `timestamp`. Version 2 begins with a header that has the
// size of a block; `dependencies` say whether the end or the sending of a call is waited for, each
// with a delay, and hashes hold within a play. Times are milliseconds, prompts are told whole.
#include <algorithm>
#include <bit>

#include "workloads/requests/trace_fields.hpp"
#include "workloads/requests/trace_format.hpp"

namespace foretoken {
namespace {

constexpr std::string_view schema_name = "dynamo.agentic_mooncake";

class AgenticMooncake final : public LineTraceFormat {
 public:
  bool recognises(const TraceHead& head) const override {
    const auto has = [&](std::string_view text) {
      return head.first_line.find(text) != std::string_view::npos;
    };
    return head.first_line.starts_with('{') &&
           (has(schema_name) || (has("\"request_id\"") && has("\"input_length\"")));
  }
  bool hashes_are_local() const override { return block_tokens_ > 0; }
  int prefix_block_tokens() const override {
    if (block_tokens_ > 0) return block_tokens_;
    return static_cast<int>(std::bit_ceil(static_cast<unsigned>(least_block_)));
  }

 protected:
  bool take_header(std::string_view first_line) override {
    const Value row = json_line(first_line);
    if (row.find("schema") == nullptr) return false;
    if (name_of(row, "schema") != schema_name)
      throw BadLine(fmt::format("schema must be \"{}\"", schema_name));
    if (name_of(row, "version") != "2")
      throw BadLine(fmt::format("version must be 2, found {}", name_of(row, "version")));
    block_tokens_ = token_count(row, "block_size");
    return true;
  }

  TraceRow parse(std::string_view line) const override {
    const Value row = json_line(line);
    TraceRow out{0, token_count(row, "input_length"), token_count(row, "output_length"),
                 hashes(row, "hash_ids")};
    TracePlace place{.id = name_of(row, "request_id")};
    if (place.id.empty()) throw BadLine("lacks \"request_id\"");
    if (block_tokens_ > 0) {
      out.arrival_ns = time_ns(row, "not_before_ms", 1e-3);
      place.trajectory = name_of(row, "play_id");
      place.is_not_earlier = true;
      read_dependencies(row, place);
      expect_blocks(out.prefix_hashes, out.prompt_tokens, block_tokens_, "hash_ids");
      out.prefix_hashes = covering_hashes(out.prefix_hashes, place.trajectory);
    } else {
      read_waits(row, place);
      place.has_time = place.waits_for.empty() || row.find("timestamp") != nullptr;
      if (place.has_time) out.arrival_ns = time_ns(row, "timestamp", 1e-3);
      fit_block(out);
    }
    out.place = std::move(place);
    return out;
  }

 private:
  static void read_waits(const Value& row, TracePlace& place) {
    if (row.find("wait_for") == nullptr) return;
    std::int64_t delay = 0;
    for (const std::string_view key : {"delay", "tool_wait_ms"})
      if (row.find(key) != nullptr) delay += delay_ns(row, key);
    for (const Value& id : list(row, "wait_for")) {
      if (!id.is_string()) throw BadLine("wait_for must be a list of names of requests");
      place.waits_for.push_back({std::get<std::string>(id.data), delay});
    }
  }

  static void read_dependencies(const Value& row, TracePlace& place) {
    if (row.find("dependencies") == nullptr) return;
    for (const Value& each : list(row, "dependencies")) {
      const std::string trigger = each.is_object() ? name_of(each, "trigger") : "";
      if (trigger != "completion" && trigger != "dispatch") {
        throw BadLine(
            "a dependency must be {\"request_id\": ..., \"trigger\": \"completion\" or "
            "\"dispatch\", \"delay_ms\": ...}");
      }
      place.waits_for.push_back(
          {name_of(each, "request_id"), delay_ns(each, "delay_ms"), trigger == "dispatch"});
    }
  }

  /// Blocks are a power of two of tokens, which lengths and hashes narrow down.
  void fit_block(const TraceRow& row) const {
    const auto hashes = static_cast<std::int64_t>(row.prefix_hashes.size());
    if (hashes == 0) return;
    least_block_ = std::max(least_block_, (row.prompt_tokens + hashes - 1) / hashes);
  }

  int block_tokens_ = 0;                  // as the header of version 2 has it
  mutable std::int64_t least_block_ = 1;  // that all prompts fit into
};

}  // namespace

std::unique_ptr<TraceFormat> agentic_mooncake_trace() {
  return std::make_unique<AgenticMooncake>();
}

}  // namespace foretoken
