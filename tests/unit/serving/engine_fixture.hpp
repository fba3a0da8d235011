// A scheduler with its KV cache and a few sequences, driven step by step without a clock: what the
// scheduler tests and properties share.
#pragma once

#include <deque>
#include <memory>
#include <string>

#include "sim/base/toml.hpp"
#include "sim/serving/scheduler.hpp"

namespace foretoken {

class EngineFixture {
 public:
  EngineFixture(std::int64_t blocks, int block_tokens, SchedulerLimits limits,
                const std::string& options = "")
      : cache(blocks, block_tokens) {
    Diagnostics diagnostics;
    const Value table = parse_toml(options, "options");
    TableReader reader(table, diagnostics, "engine");
    scheduler = scheduler_catalog().find("vllm_v1", {}).make(reader, limits, cache);
    diagnostics.throw_if_any();
  }

  Sequence& submit(std::int64_t prompt_tokens, std::int64_t output_tokens) {
    Sequence& sequence = sequences.emplace_back();
    sequence.prompt_tokens = prompt_tokens;
    sequence.output_tokens = output_tokens;
    scheduler->enqueue(sequence);
    return sequence;
  }

  Batch next() {
    Batch batch;
    batch.lists_sequences = true;
    scheduler->next_batch(Seconds(0.0), batch);
    return batch;
  }

  /// The step has run: draws tokens and lets finished sequences go.
  void complete(const Batch& batch) {
    for (const BatchEntry& entry : batch.entries) {
      --entry.sequence->steps_in_flight;
      if (entry.samples) ++entry.sequence->produced;
    }
    for (const BatchEntry& entry : batch.entries) {
      if (entry.samples && entry.sequence->is_done()) scheduler->remove(*entry.sequence);
    }
  }

  KvCache cache;
  std::unique_ptr<Scheduler> scheduler;
  std::deque<Sequence> sequences;
};

/// New tokens of each entry, in order.
inline std::vector<std::int64_t> new_tokens(const Batch& batch) {
  std::vector<std::int64_t> tokens;
  for (const BatchEntry& entry : batch.entries) tokens.push_back(entry.new_tokens);
  return tokens;
}

}  // namespace foretoken
