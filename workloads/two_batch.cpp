// Builds the graph of both halves once; a step only brings the durations.
#include "workloads/two_batch.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "sim/base/error.hpp"

namespace foretoken {

TwoBatchSchedule::TwoBatchSchedule(const std::vector<SegmentBlock>& blocks) {
  using Vertex = Graph::vertex_descriptor;
  std::array<std::optional<Vertex>, 2> last_of_half, last_on_stream;
  const auto add = [&](int half, const SegmentBlock& block, std::size_t position) {
    const auto stream = static_cast<std::size_t>(block.segments[position]);
    const Vertex vertex = boost::add_vertex(
        {half, block.first_segment + static_cast<int>(position), 1.0 / block.repeats}, graph_);
    for (auto* before : {&last_of_half[static_cast<std::size_t>(half)], &last_on_stream[stream]}) {
      if (*before) boost::add_edge(**before, vertex, graph_);
      *before = vertex;
    }
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
  std::vector<Seconds> ends(boost::num_vertices(graph_));
  Seconds longest;
  for (const auto vertex : boost::make_iterator_range(boost::vertices(graph_))) {
    Seconds start;
    for (const auto edge : boost::make_iterator_range(boost::in_edges(vertex, graph_))) {
      start = std::max(start, ends[boost::source(edge, graph_)]);
    }
    const Task& task = graph_[vertex];
    const auto segment = static_cast<std::size_t>(task.segment);
    FORETOKEN_CHECK(segment < first.size() && segment < second.size(), "segment {} of {} and {}",
                    segment, first.size(), second.size());
    ends[vertex] = start + (task.half == 0 ? first : second)[segment] * task.share;
    longest = std::max(longest, ends[vertex]);
  }
  return longest;
}

}  // namespace foretoken
