#include "sim/serving/replica_scrapes.hpp"

#include <algorithm>

namespace foretoken {

/// One scrape before the longest window stays, for windows of any length.
void ReplicaScrapes::add(const ReplicaScrape& scrape) {
  kept_.push_back(scrape);
  while (kept_.size() > 1 && kept_[1].at <= scrape.at - keep_) kept_.pop_front();
}

bool ReplicaScrapes::any(Seconds now, Seconds window) const {
  return !kept_.empty() && kept_.back().at > now - window;
}

ReplicaMetrics ReplicaScrapes::seen(Seconds now, Seconds window) const {
  ReplicaMetrics metrics;
  const ReplicaScrape* first = nullptr;  // within the window of means
  for (const ReplicaScrape& scrape : kept_) {
    if (first == nullptr && scrape.at > now - mean_window) first = &scrape;
    if (scrape.at <= now - window) continue;
    metrics.kv_share = std::max(metrics.kv_share, scrape.kv_share);
    metrics.queued = std::max(metrics.queued, scrape.queued);
  }
  if (first == nullptr) return metrics;
  const ReplicaScrape& last = kept_.back();
  const auto requests = static_cast<double>(last.served.requests - first->served.requests);
  if (requests > 0) {
    metrics.prompt_tokens = (last.served.prompt_tokens - first->served.prompt_tokens) / requests;
    metrics.output_tokens = (last.served.output_tokens - first->served.output_tokens) / requests;
  }
  const auto asked = static_cast<double>(last.prefixes.tokens_asked - first->prefixes.tokens_asked);
  const auto found = static_cast<double>(last.prefixes.tokens_found - first->prefixes.tokens_found);
  if (asked > 0) metrics.prefix_hits = std::clamp(found / asked, 0.0, 1.0);
  return metrics;
}

}  // namespace foretoken
