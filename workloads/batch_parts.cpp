#include "workloads/batch_parts.hpp"

#include <algorithm>

namespace foretoken {
namespace {

/// Of `all` in `count` parts what part `first` and those behind it have: the earlier ones get more.
std::int64_t tail_of(std::int64_t all, int first, int count) {
  return all * (count - first) / count;
}

std::int64_t part_of(std::int64_t all, int part, int count) {
  return tail_of(all, part, count) - tail_of(all, part + 1, count);
}

/// Of sums over several alike sequences those of the last `sequences`.
LoadSums last_of(const LoadSums& sums, std::int64_t sequences) {
  LoadSums last = sums;
  last.sequences = sequences;
  const double share = static_cast<double>(sequences) / static_cast<double>(sums.sequences);
  last.query_tokens = sums.query_tokens * sequences / sums.sequences;
  last.context_tokens = static_cast<std::int64_t>(static_cast<double>(sums.context_tokens) * share);
  last.causal_pairs = sums.causal_pairs * share;
  return last;
}

LoadSums difference(LoadSums sums, const LoadSums& less) {
  sums.sequences -= less.sequences;
  sums.query_tokens -= less.query_tokens;
  sums.context_tokens -= less.context_tokens;
  sums.causal_pairs -= less.causal_pairs;
  return sums;
}

void split_many(const LoadSums& sums, std::vector<LoadSums>& parts) {
  const int count = static_cast<int>(parts.size());
  LoadSums tail = sums;
  for (int part = 0; part < count; ++part) {
    const std::int64_t rest = tail_of(sums.sequences, part + 1, count);
    const LoadSums next = last_of(sums, rest);
    LoadSums& own = parts[static_cast<std::size_t>(part)];
    if (rest < tail.sequences) own = difference(tail, next);
    tail = next;
  }
}

/// A single prompt is cut, a single decode is not, with or without drafts.
std::vector<LoadSums> split_sums(const LoadSums& sums, bool are_prompts, int count) {
  std::vector<LoadSums> parts(static_cast<std::size_t>(count));
  if (sums.sequences > 1) {
    split_many(sums, parts);
  } else if (sums.sequences == 1 && !are_prompts) {
    parts.front() = sums;
  } else if (sums.sequences == 1) {
    for (int part = 0; part < count; ++part) {
      const SequenceSlice chunk{part_of(sums.query_tokens, part, count),
                                sums.context_tokens - tail_of(sums.query_tokens, part + 1, count)};
      if (chunk.query_tokens > 0) parts[static_cast<std::size_t>(part)].add(chunk);
    }
  }
  return parts;
}

/// Prompts in their order by tokens, those at borders cut in chunks; decodes in turn. (In two,
/// SGLang leaves the prompts whole where 48 to 52 % of the tokens end with one of them.)
class ListSplit {
 public:
  ListSplit(const AttentionLoad& load, int count)
      : load_(load),
        decode_queries_(std::max<std::int64_t>(load.decode.query_tokens_max, 1)),
        parts_(static_cast<std::size_t>(count)) {
    for (int part = 0; part < count; ++part)
      left_.push_back(part_of(load.prefill.query_tokens, part, count));
  }

  std::vector<AttentionLoad> run() {
    std::size_t turn = 0;
    for (const SequenceSlice& slice : load_.sequences) {
      if (load_.is_decode(slice)) {
        parts_[turn++ % parts_.size()].push_back(slice);
      } else {
        add_prompt(slice);
      }
    }
    std::vector<AttentionLoad> loads;
    for (std::vector<SequenceSlice>& part : parts_)
      loads.push_back(AttentionLoad::exact(std::move(part), decode_queries_));
    return loads;
  }

 private:
  void add_prompt(const SequenceSlice& slice) {
    std::int64_t rest = slice.query_tokens;
    while (rest > 0) {
      const bool is_last = current_ + 1 == parts_.size();
      const std::int64_t here = is_last ? rest : chunk_of(rest);
      rest -= here;
      if (here > 0) parts_[current_].push_back({here, slice.context_tokens - rest});
      left_[current_] = std::max<std::int64_t>(left_[current_] - here, 0);
      if (rest > 0) ++current_;
    }
  }

  /// Of so many tokens those that the current part takes: no chunk is as short as a decode.
  [[nodiscard]] std::int64_t chunk_of(std::int64_t tokens) const {
    std::int64_t here = std::min(tokens, left_[current_]);
    if (here == 0 || here == tokens) return here;
    here = std::max(here, decode_queries_ + 1);
    return tokens - here <= decode_queries_ ? tokens : here;
  }

  const AttentionLoad& load_;
  const std::int64_t decode_queries_;
  std::vector<std::vector<SequenceSlice>> parts_;
  std::vector<std::int64_t> left_;  // tokens of prompts that a part still takes
  std::size_t current_ = 0;
};

std::vector<AttentionLoad> split_load(const AttentionLoad& load, int count) {
  if (!load.sequences.empty()) return ListSplit(load, count).run();
  const std::vector<LoadSums> prefill = split_sums(load.prefill, true, count);
  const std::vector<LoadSums> decode = split_sums(load.decode, false, count);
  std::vector<AttentionLoad> parts(prefill.size());
  for (std::size_t part = 0; part < parts.size(); ++part) {
    parts[part].prefill = prefill[part];
    parts[part].decode = decode[part];
  }
  return parts;
}

}  // namespace

std::vector<BatchShape> split_batch(const BatchShape& batch, int count) {
  std::vector<BatchShape> parts(static_cast<std::size_t>(count));
  std::vector<AttentionLoad> loads = split_load(batch.attention, count);
  std::int64_t tokens = batch.tokens, logit_rows = batch.logit_rows;
  std::int64_t draft_rows = batch.draft_rows, verifying = batch.verifying;
  for (int part = count - 1; part > 0; --part) {
    BatchShape& shape = parts[static_cast<std::size_t>(part)];
    shape.attention = std::move(loads[static_cast<std::size_t>(part)]);
    shape.tokens = shape.attention.query_tokens();
    if (shape.tokens > 0) {
      shape.logit_rows = part_of(batch.logit_rows, part, count);
      shape.draft_rows = part_of(batch.draft_rows, part, count);
      shape.verifying = part_of(batch.verifying, part, count);
    }
    tokens -= shape.tokens;
    logit_rows -= shape.logit_rows;
    draft_rows -= shape.draft_rows;
    verifying -= shape.verifying;
  }
  parts.front().attention = std::move(loads.front());
  parts.front().tokens = tokens;
  parts.front().logit_rows = logit_rows;
  parts.front().draft_rows = draft_rows;
  parts.front().verifying = verifying;
  return parts;
}

std::vector<std::vector<BatchShape>> split_ranks(std::span<const BatchShape> ranks, int count) {
  std::vector<std::vector<BatchShape>> parts(static_cast<std::size_t>(count));
  for (const BatchShape& rank : ranks) {
    std::vector<BatchShape> own = split_batch(rank, count);
    for (std::size_t part = 0; part < parts.size(); ++part)
      parts[part].push_back(std::move(own[part]));
  }
  std::erase_if(parts, [](const std::vector<BatchShape>& part) {
    return std::ranges::all_of(part, [](const BatchShape& rank) { return rank.tokens == 0; });
  });
  return parts;
}

}  // namespace foretoken
