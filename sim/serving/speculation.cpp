#include "sim/serving/speculation.hpp"

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

AcceptanceSampler::AcceptanceSampler(std::vector<double> probabilities,
                                     const RandomStreams& streams, ReplicaId replica)
    : probabilities_(std::move(probabilities)) {
  totals_.drafted.resize(probabilities_.size());
  totals_.accepted.resize(probabilities_.size());
  for (std::size_t position = 0; position < probabilities_.size(); ++position) {
    streams_.push_back(streams.stream(
        fmt::format("speculation/replica {}/position {}", replica.value, position + 1)));
  }
}

std::int64_t AcceptanceSampler::draw(std::int64_t drafts) {
  const auto count = static_cast<std::size_t>(drafts);
  FORETOKEN_CHECK(drafts >= 1 && count <= probabilities_.size(), "{} drafts of at most {}", drafts,
                  probabilities_.size());
  ++totals_.verifications;
  for (std::size_t i = 0; i < count; ++i) ++totals_.drafted[i];
  std::size_t accepted = 0;
  while (accepted < count && uniform(streams_[accepted]) < probabilities_[accepted]) {
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

}  // namespace foretoken
