// Lays out the turns of a step once; a step only brings the durations.
#include "workloads/batch_schedule.hpp"

#include <algorithm>
#include <array>

#include "sim/base/error.hpp"

namespace foretoken {

SideTimes& SideTimes::operator+=(const SideTimes& other) {
  step += other.step;
  attention += other.attention;
  experts += other.experts;
  links += other.links;
  return *this;
}

BatchSchedule::BatchSchedule(const std::vector<SegmentBlock>& blocks) {
  for (const SegmentBlock& block : blocks)
    streams_.insert(streams_.end(), block.segments.begin(), block.segments.end());
  const bool joins = std::ranges::find(streams_, Stream::experts) != streams_.end();
  for (const SegmentBlock& block : blocks) {
    for (int layer = 0; layer < block.repeats; ++layer) {
      for (std::size_t position = 0; position < block.segments.size(); ++position) {
        const Stream stream = block.segments[position];
        if (!joins || turns_.empty() || turns_.back().stream != stream)
          turns_.push_back({stream, {}});
        turns_.back().tasks.push_back(
            {block.first_segment + static_cast<int>(position), 1.0 / block.repeats});
      }
    }
  }
}

Seconds BatchSchedule::critical_path(std::span<const std::vector<Seconds>> parts) const {
  std::vector<Seconds> of_part(parts.size());
  std::array<Seconds, stream_count> on_stream{};
  for (const std::vector<Seconds>& part : parts) {
    FORETOKEN_CHECK(part.size() >= streams_.size(), "{} segments of {}", part.size(),
                    streams_.size());
  }
  for (const Turn& turn : turns_) {
    Seconds& stream = on_stream[static_cast<std::size_t>(turn.stream)];
    for (std::size_t part = 0; part < parts.size(); ++part) {
      Seconds end = std::max(of_part[part], stream);
      for (const Task& task : turn.tasks)
        end += parts[part][static_cast<std::size_t>(task.segment)] * task.share;
      of_part[part] = stream = end;
    }
  }
  return of_part.empty() ? Seconds() : std::ranges::max(of_part);
}

SideTimes BatchSchedule::sides(std::span<const std::vector<Seconds>> parts) const {
  std::array<Seconds, stream_count> busy{};
  for (const std::vector<Seconds>& part : parts) {
    for (std::size_t i = 0; i < streams_.size(); ++i)
      busy[static_cast<std::size_t>(streams_[i])] += part[i];
  }
  const auto of = [&](Stream stream) { return busy[static_cast<std::size_t>(stream)]; };
  return {critical_path(parts), of(Stream::compute), of(Stream::experts),
          std::max(of(Stream::to_experts), of(Stream::from_experts))};
}

}  // namespace foretoken
