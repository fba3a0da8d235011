// What a recorded run shows of the host beside the GPUs: mean latencies of groups of its requests,
// in which the host's constants weigh differently. Short and long prompts tell what a token costs
// the front end from what a request does, few and many requests at once what a step costs from what
// a sequence does, and the wait for the first step what comes before the engine from what comes
// after.
#pragma once

#include <vector>

#include "sim/report/request_row.hpp"
#include "workloads/measurements/served_run.hpp"

namespace foretoken {

/// A mean latency of some requests, and what an error of it is measured by.
struct HostSight {
  double seconds = 0;
  double scale = 1;  // s; the latency itself, but for waits, which can be next to nothing
};

/// Groups are made from the recorded requests, so that any simulation of them is seen alike. On two
/// clocks TTFTs are known but for a constant, and are seen less their mean.
class HostView {
 public:
  explicit HostView(const ServedRun& run);

  [[nodiscard]] const std::vector<HostSight>& recorded() const { return recorded_; }
  /// The same means, s, of the simulated requests, which are the recorded ones in their order.
  [[nodiscard]] std::vector<double> simulated(const std::vector<RequestRow>& rows) const;

 private:
  enum class Latency { ttft, tpot, wait };
  struct Group {
    Latency latency;
    std::vector<std::size_t> requests;
  };

  void add(const ServedRun& run, Latency latency, const std::vector<std::size_t>& order);
  /// Takes from the means of TTFT groups what they have in common, where clocks hide it.
  void take_common(std::vector<double>& means) const;

  bool has_two_clocks_;
  std::vector<Group> groups_;
  std::vector<HostSight> recorded_;
};

}  // namespace foretoken
