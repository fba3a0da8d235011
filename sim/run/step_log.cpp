#include "sim/run/step_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "workloads/encoder_kernels.hpp"

namespace foretoken {

void StepLog::on_step(ReplicaId replica, int stage, Seconds start, Seconds duration,
                      const Batch& batch) {
  line_.clear();
  const auto out = std::back_inserter(line_);
  fmt::format_to(out, R"({{"start_s":{:.9f},"duration_s":{:.9f},"replica":{},"stage":{},)",
                 start.value(), duration.value(), replica.value, stage);
  if (batch.attention_rank > 0) fmt::format_to(out, R"("rank":{},)", batch.attention_rank);
  if (batch.draft_time > Seconds(0.0)) {
    fmt::format_to(out, R"("draft_s":{:.9f},)", batch.draft_time.value());
  }
  if (stage == 0 && batch.host_delay > Seconds(0.0)) {
    fmt::format_to(out, R"("host_s":{:.9f},)", batch.host_delay.value());
  }
  if (stage == 0) {
    append_media("images", of_medium(Medium::image, batch.media));
    append_media("audio", of_medium(Medium::audio, batch.media));
  }
  line_ += R"("prefill":[)";
  decode_contexts_.clear();
  verified_.clear();
  const char* separator = "";
  for (const BatchEntry& entry : batch.entries) {
    if (entry.drafts > 0) {
      verified_.push_back({entry.new_tokens, entry.context_tokens});
      continue;
    }
    if (entry.new_tokens == 1) {
      decode_contexts_.push_back(entry.context_tokens);
      continue;
    }
    fmt::format_to(out, "{}[{},{}]", separator, entry.new_tokens, entry.context_tokens);
    separator = ",";
  }
  line_ += R"(],"decode":[)";
  std::ranges::sort(decode_contexts_);
  separator = "";
  for (auto first = decode_contexts_.begin(); first != decode_contexts_.end();) {
    const auto end = std::upper_bound(first, decode_contexts_.end(), *first);
    fmt::format_to(out, "{}[{},{}]", separator, *first, end - first);
    separator = ",";
    first = end;
  }
  line_ += ']';
  if (!verified_.empty()) append_verified();
  line_ += "}\n";
  file_.write(line_);
}

void StepLog::append_media(const char* name, const std::vector<MediaPatches>& items) {
  if (items.empty()) return;
  const auto out = std::back_inserter(line_);
  fmt::format_to(out, R"("{}":[)", name);
  const char* before = "";
  for (const MediaPatches& item : items) {
    fmt::format_to(out, "{}[{},{},{}]", before, item.tiles, item.patches, item.tokens);
    before = ",";
  }
  line_ += "],";
}

/// Decodes that verify drafts, by [queries, context, sequences], those with fewer queries first.
void StepLog::append_verified() {
  std::ranges::sort(verified_);
  line_ += R"(,"verify":[)";
  const char* separator = "";
  for (auto first = verified_.begin(); first != verified_.end();) {
    const auto end = std::upper_bound(first, verified_.end(), *first);
    fmt::format_to(std::back_inserter(line_), "{}[{},{},{}]", separator, first->first,
                   first->second, end - first);
    separator = ",";
    first = end;
  }
  line_ += ']';
}

}  // namespace foretoken
