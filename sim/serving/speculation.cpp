#include "sim/serving/speculation.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "sim/base/error.hpp"

namespace foretoken {

double SpeculationTotals::acceptance_length() const {
  if (verifications == 0) return 0;
  const auto kept = std::accumulate(accepted.begin(), accepted.end(), std::int64_t{0});
  return 1.0 + static_cast<double>(kept) / static_cast<double>(verifications);
}

SpeculationTotals& SpeculationTotals::operator+=(const SpeculationTotals& other) {
  verifications += other.verifications;
  drafted.resize(std::max(drafted.size(), other.drafted.size()));
  accepted.resize(drafted.size());
  for (std::size_t i = 0; i < other.drafted.size(); ++i) {
    drafted[i] += other.drafted[i];
    accepted[i] += other.accepted[i];
  }
  return *this;
}

AcceptanceSampler::AcceptanceSampler(DraftTree tree, const RandomStreams& streams,
                                     ReplicaId replica)
    : tree_(std::move(tree)) {
  totals_.drafted.resize(tree_.depth());
  totals_.accepted.resize(tree_.depth());
  for (std::size_t position = 0; position < tree_.depth(); ++position) {
    streams_.push_back(streams.stream(
        fmt::format("speculation/replica {}/position {}", replica.value, position + 1)));
  }
}

std::int64_t AcceptanceSampler::draw(std::int64_t drafts) {
  const auto count = static_cast<std::size_t>(drafts);
  const std::vector<DraftTree::Node>& nodes = tree_.nodes();
  FORETOKEN_CHECK(drafts >= 1 && count <= nodes.size(), "{} drafts of at most {}", drafts,
                  nodes.size());
  ++totals_.verifications;
  int deepest = 0;
  for (std::size_t i = 0; i < count; ++i) deepest = std::max(deepest, nodes[i].depth + 1);
  for (int i = 0; i < deepest; ++i) ++totals_.drafted[static_cast<std::size_t>(i)];
  std::size_t accepted = 0;
  int node = -1;
  while (static_cast<int>(accepted) < deepest) {
    const double drawn = uniform(streams_[accepted]);
    double sum = 0;
    int next = -1;
    for (const int child : tree_.children(node)) {
      if (child >= drafts) break;
      sum += nodes[static_cast<std::size_t>(child)].probability;
      if (drawn >= sum) continue;
      next = child;
      break;
    }
    if (next < 0) break;
    node = next;
    ++totals_.accepted[accepted++];
  }
  return static_cast<std::int64_t>(accepted);
}

int Speculation::drafts_after(std::int64_t sequences) const {
  int count = drafts;
  for (const auto& [from, fewer] : drafts_by_batch)
    if (sequences >= from) count = fewer;
  return count;
}

DraftPricer::Work Speculation::work_for(int drafts_wanted) const {
  if (depth == 0) return {.passes = drafts_wanted};
  return {.passes = drafts_wanted > 0 ? depth : 0, .topk = topk, .known_tokens = depth + 1};
}

}  // namespace foretoken
