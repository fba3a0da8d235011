#include "sim/serving/mixed_batching.hpp"

namespace foretoken {

const Keys<MixedBatchingConfig>& mixed_batching_keys() {
  using S = MixedBatchingConfig;
  static const Keys<S> keys = {
      {"prefill_chunk_max",
       &S::prefill_chunk_max,
       {.range = not_negative(), .unit = "tokens"},
       "Longest chunk of one prompt in a step, so that long prompts leave room for "
       "short "
       "ones. 0: only batch_tokens_max limits it."},
      {"chunked_prefill",
       &S::chunked_prefill,
       {},
       "Whether prompts may be split over several steps. If not, one longer than batch_tokens_max "
       "is rejected."},
      {"reserve_prompt",
       &S::reserve_prompt,
       {},
       "Whether a sequence starts only once the KV cache has room for its whole prompt, which "
       "avoids preemptions but lets fewer sequences run."},
  };
  return keys;
}

std::vector<KeyNote> with_mixed_batching(std::vector<KeyNote> own) {
  for (KeyNote& note : mixed_batching_keys().notes()) own.push_back(std::move(note));
  return own;
}

MixedBatchingConfig read_mixed_batching(TableReader& table) {
  MixedBatchingConfig config;
  mixed_batching_keys().read(table, config);
  table.expect("prefill_chunk_max", config.chunked_prefill || config.prefill_chunk_max == 0,
               "limits prompt chunks, but with chunked_prefill = false there are none");
  return config;
}

bool MixedBatching::can_serve(const Sequence& sequence) const {
  return config_.chunked_prefill || sequence.prompt_tokens <= limits_.batch_tokens_max;
}

std::int64_t MixedBatching::piece(const Sequence& sequence, std::int64_t missing) const {
  if (!config_.chunked_prefill && sequence.produced == 0) {
    return missing <= budget() ? missing : 0;
  }
  const std::int64_t tokens = std::min(missing, budget());
  return config_.prefill_chunk_max > 0 ? std::min(tokens, config_.prefill_chunk_max) : tokens;
}

void MixedBatching::serve_running(std::size_t index, Batch& batch) {
  const Sequence& sequence = *running_[index];
  const std::int64_t tokens = piece(sequence, sequence.missing_tokens());
  if (tokens > 0) serve(index, tokens, batch);  // else it waits for a step in flight
}

bool MixedBatching::may_admit() const {
  return !has_preempted() && budget() > 0 && !waiting_.empty() && has_slot();
}

bool MixedBatching::admit_first(Batch& batch) {
  const Sequence& sequence = *waiting_.front();
  const KvEntry entry = preempter_.find(sequence);
  if (config_.reserve_prompt &&
      preempter_.blocks_wanted(entry, sequence.known_tokens()) > cache_.free()) {
    return false;
  }
  const std::int64_t tokens = piece(sequence, sequence.known_tokens() - entry.tokens);
  return tokens > 0 && admit_front(entry, tokens, 0, batch);
}

}  // namespace foretoken
