#include "sim/run/link_trace.hpp"

#include <fmt/format.h>

namespace foretoken {
namespace {

constexpr std::uint32_t links_process = 1'000'000;  // behind the replicas'
constexpr std::uint32_t lanes_a_link = 256;         // later ones share the last

}  // namespace

void LinkTrace::on_flow(std::span<const LinkIndex> route, Bytes size, Seconds start, Seconds end) {
  if (links_.empty()) writer_.name_process(links_process, "links");
  for (const LinkIndex link : route) {
    TraceLanes& lanes = links_[link];
    const std::size_t before = lanes.size();
    const std::size_t lane = lanes.take(start);
    const auto shown = static_cast<std::uint32_t>(std::min<std::size_t>(lane, lanes_a_link - 1));
    const TraceTrack track{links_process, link * lanes_a_link + shown + 1};
    if (lane >= before && lane < lanes_a_link) writer_.name_thread(track, wiring_.name(link));
    writer_.slice(track, "flow", "transfer", start, end,
                  TraceArguments().add("bytes", size.value()));
    lanes.release(lane, end);
  }
}

}  // namespace foretoken
