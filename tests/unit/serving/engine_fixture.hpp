// A scheduler with its KV cache and a few sequences, driven step by step without a clock: what the
// scheduler tests and properties share.
#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <string>

#include "sim/base/toml.hpp"
#include "sim/serving/scheduler.hpp"

namespace foretoken {

class EngineFixture {
 public:
  EngineFixture(std::int64_t blocks, int block_tokens, SchedulerLimits limits,
                const std::string& options = "", const std::string& name = "vllm_v1",
                bool shares_prefixes = false, HostKv host = {})
      : cache(blocks, block_tokens, shares_prefixes, host) {
    Diagnostics diagnostics;
    const Value table = parse_toml(options, "options");
    TableReader reader(table, diagnostics, "engine");
    scheduler = scheduler_catalog().find(name, {}).make(reader, limits, cache);
    diagnostics.throw_if_any();
  }

  Sequence& submit(std::int64_t prompt_tokens, std::int64_t output_tokens) {
    Sequence sequence;
    sequence.prompt_tokens = prompt_tokens;
    sequence.output_tokens = output_tokens;
    return submit(sequence);
  }

  /// A sequence with more to it; it arrives now, and its id counts on.
  Sequence& submit(const Sequence& made) {
    Sequence& sequence = sequences.emplace_back(made);
    sequence.record.id = RequestId{static_cast<std::uint32_t>(sequences.size() - 1)};
    sequence.record.arrival = now;
    scheduler->enqueue(sequence);
    return sequence;
  }

  Batch next() {
    Batch batch;
    batch.lists_sequences = true;
    scheduler->next_batch(now, batch);
    return batch;
  }

  /// The step has run: draws tokens and lets finished sequences go.
  void complete(const Batch& batch) {
    for (const BatchEntry& entry : batch.entries) {
      --entry.sequence->steps_in_flight;
      if (entry.samples && !is_given_up(*entry.sequence)) ++entry.sequence->produced;
    }
    for (const BatchEntry& entry : batch.entries) {
      if (!entry.samples || is_given_up(*entry.sequence)) continue;
      if (entry.sequence->is_done()) scheduler->remove(*entry.sequence);
    }
  }

  /// Its client has gone: wherever it is, steps in flight included.
  void give_up(Sequence& sequence) {
    given_up.push_back(&sequence);
    scheduler->remove(sequence);
  }
  [[nodiscard]] bool is_given_up(const Sequence& sequence) const {
    return std::ranges::find(given_up, &sequence) != given_up.end();
  }

  Seconds now;  // moved by the test
  KvCache cache;
  std::unique_ptr<Scheduler> scheduler;
  std::deque<Sequence> sequences;
  std::vector<const Sequence*> given_up;
};

/// "0:40 1:1": sequences by their number and new tokens, in order.
inline std::string step_text(const Batch& batch) {
  std::string text;
  for (const BatchEntry& entry : batch.entries) {
    if (!text.empty()) text += ' ';
    text += fmt::format("{}:{}", entry.sequence->record.id.value, entry.new_tokens);
  }
  return text;
}

/// The next `count` steps, each run before the next is asked for.
inline std::vector<std::string> run_steps(EngineFixture& engine, int count) {
  std::vector<std::string> texts;
  for (int i = 0; i < count; ++i) {
    const Batch batch = engine.next();
    texts.push_back(step_text(batch));
    engine.complete(batch);
  }
  return texts;
}

/// The message about a scheduler's options, "" if they are fine.
inline std::string options_error(const std::string& name, const std::string& options,
                                 SchedulerLimits limits = {}) {
  try {
    EngineFixture engine(1, 16, limits, options, name);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

/// New tokens of each entry, in order.
inline std::vector<std::int64_t> new_tokens(const Batch& batch) {
  std::vector<std::int64_t> tokens;
  for (const BatchEntry& entry : batch.entries) tokens.push_back(entry.new_tokens);
  return tokens;
}

}  // namespace foretoken
