// The length distributions that come with Foretoken.
#include "workloads/requests/length_distribution.hpp"

namespace foretoken {

LengthFactory fixed_lengths();
LengthFactory uniform_lengths();
LengthFactory lognormal_lengths();
LengthFactory zipf_lengths();
LengthFactory trace_lengths();

LengthRegistry length_registry() {
  LengthRegistry registry("length distribution");
  registry.add("fixed", "always the same length", fixed_lengths());
  registry.add("uniform", "every length from min to max equally likely", uniform_lengths());
  registry.add("lognormal", "many short, few long: mean and p99, or median and sigma",
               lognormal_lengths());
  registry.add("zipf", "a power law from min to max", zipf_lengths());
  registry.add("trace", "the lengths of a recorded trace, row by row", trace_lengths());
  return registry;
}

}  // namespace foretoken
