// Builds the graph of both halves once; a step only brings the durations.
#include "workloads/two_batch.hpp"

#include <algorithm>

#include "sim/base/error.hpp"

namespace foretoken {

TwoBatchSchedule::TwoBatchSchedule(const std::vector<SegmentBlock>& blocks) {
  std::array<std::size_t, 2> last_of_half = {}, last_on_stream = {};
  const auto add = [&](int half, const SegmentBlock& block, std::size_t position) {
    const auto stream = static_cast<std::size_t>(block.segments[position]);
    std::size_t& of_half = last_of_half[static_cast<std::size_t>(half)];
    std::size_t& on_stream = last_on_stream[stream];
    tasks_.push_back({half,
                      block.first_segment + static_cast<int>(position),
                      1.0 / block.repeats,
                      {of_half, on_stream}});
    of_half = on_stream = tasks_.size();
  };
  for (const SegmentBlock& block : blocks) {
    for (int layer = 0; layer < block.repeats; ++layer) {
      for (std::size_t position = 0; position < block.segments.size(); ++position) {
        for (const int half : {0, 1}) add(half, block, position);
      }
    }
  }
}

Seconds TwoBatchSchedule::critical_path(std::span<const Seconds> first,
                                        std::span<const Seconds> second) const {
  std::vector<Seconds> ends = {Seconds(0.0)};
  ends.reserve(tasks_.size() + 1);
  Seconds longest;
  for (const Task& task : tasks_) {
    const Seconds start = std::max(ends[task.after[0]], ends[task.after[1]]);
    const auto segment = static_cast<std::size_t>(task.segment);
    FORETOKEN_CHECK(segment < first.size() && segment < second.size(), "segment {} of {} and {}",
                    segment, first.size(), second.size());
    ends.push_back(start + (task.half == 0 ? first : second)[segment] * task.share);
    longest = std::max(longest, ends.back());
  }
  return longest;
}

}  // namespace foretoken
