#include "workloads/requests/trace.hpp"

#include <algorithm>

namespace foretoken {

bool Trace::add(const TraceRow& row, const TraceLimits& limits) {
  if (rows_.size() >= limits.rows || hashes_.size() + row.prefix_hashes.size() > limits.hashes)
    return false;
  rows_.push_back({row.arrival_ns, hashes_.size(),
                   static_cast<std::uint32_t>(row.prefix_hashes.size()), row.prompt_tokens,
                   row.output_tokens});
  hashes_.insert(hashes_.end(), row.prefix_hashes.begin(), row.prefix_hashes.end());
  return true;
}

void Trace::finish() {
  if (rows_.empty()) return;
  if (!std::ranges::is_sorted(rows_, {}, &Row::arrival_ns))  // sorting takes a copy
    std::ranges::stable_sort(rows_, {}, &Row::arrival_ns);
  const std::int64_t first = rows_.front().arrival_ns;
  for (Row& row : rows_) row.arrival_ns -= first;
}

}  // namespace foretoken
