#include "kernels/expert_placement.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>

#include "sim/base/error.hpp"

namespace foretoken {
namespace {

/// How many copies there are of each expert.
std::vector<std::int64_t> copies_of(const std::vector<std::int64_t>& counts, int redundant) {
  std::vector<std::int64_t> copies(counts.size(), 1);
  // Busiest a copy first, then the lower index.
  using Entry = std::tuple<double, std::ptrdiff_t>;
  std::priority_queue<Entry> busiest;
  for (std::size_t i = 0; i < counts.size(); ++i)
    busiest.emplace(static_cast<double>(counts[i]), -static_cast<std::ptrdiff_t>(i));
  for (int made = 0; made < redundant; ++made) {
    const std::ptrdiff_t negative = std::get<1>(busiest.top());
    const auto expert = static_cast<std::size_t>(-negative);
    busiest.pop();
    ++copies[expert];
    busiest.emplace(static_cast<double>(counts[expert]) / static_cast<double>(copies[expert]),
                    negative);
  }
  return copies;
}

}  // namespace

std::vector<std::vector<std::int64_t>> placed_by_load(const std::vector<std::int64_t>& counts,
                                                      int redundant, int ranks) {
  const std::size_t all = counts.size() + static_cast<std::size_t>(redundant);
  FORETOKEN_CHECK(redundant >= 0 && ranks > 0 && all % static_cast<std::size_t>(ranks) == 0,
                  "{} experts and {} copies on {} ranks", counts.size(), redundant, ranks);
  const std::vector<std::int64_t> copies = copies_of(counts, redundant);
  std::vector<std::int64_t> parts;
  parts.reserve(all);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    for (std::int64_t copy = 0; copy < copies[i]; ++copy)
      parts.push_back(counts[i] / copies[i] + (copy < counts[i] % copies[i] ? 1 : 0));
  }
  std::ranges::stable_sort(parts, std::ranges::greater());

  const std::size_t room = all / static_cast<std::size_t>(ranks);
  std::vector<std::vector<std::int64_t>> placed(static_cast<std::size_t>(ranks));
  // Emptiest first, then the lower index; a rank that is full is not asked again.
  using Entry = std::tuple<std::int64_t, std::size_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> emptiest;
  for (std::size_t rank = 0; rank < placed.size(); ++rank) emptiest.emplace(0, rank);
  for (const std::int64_t part : parts) {
    const auto [load, rank] = emptiest.top();
    emptiest.pop();
    placed[rank].push_back(part);
    if (placed[rank].size() < room) emptiest.emplace(load + part, rank);
  }
  return placed;
}

}  // namespace foretoken
