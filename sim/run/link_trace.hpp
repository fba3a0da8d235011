// Flows on links as tracks of a trace: one process, a thread a link (more where flows share it), a
// slice a flow. A flow that takes several links stands on each of them.
#pragma once

#include <map>

#include "hardware/wiring.hpp"
#include "sim/platform/platform.hpp"
#include "sim/report/trace_writer.hpp"

namespace foretoken {

class LinkTrace final : public LinkObserver {
 public:
  /// References must outlive the trace.
  LinkTrace(TraceWriter& writer, const ClusterSpec& cluster) : writer_(writer), wiring_(cluster) {}

  void on_flow(std::span<const LinkIndex> route, Bytes size, Seconds start, Seconds end) override;

 private:
  TraceWriter& writer_;
  Wiring wiring_;
  std::map<LinkIndex, TraceLanes> links_;
};

}  // namespace foretoken
