// The length distributions that come with Foretoken.
#include "workloads/requests/length_distribution.hpp"

namespace foretoken {

LengthRegistry::Entry fixed_lengths();
LengthRegistry::Entry uniform_lengths();
LengthRegistry::Entry lognormal_lengths();
LengthRegistry::Entry zipf_lengths();
LengthRegistry::Entry histogram_lengths();
LengthRegistry::Entry trace_lengths();

LengthRegistry length_registry() {
  LengthRegistry registry("length distribution");
  registry.add(fixed_lengths());
  registry.add(uniform_lengths());
  registry.add(lognormal_lengths());
  registry.add(zipf_lengths());
  registry.add(histogram_lengths());
  registry.add(trace_lengths());
  return registry;
}

}  // namespace foretoken
