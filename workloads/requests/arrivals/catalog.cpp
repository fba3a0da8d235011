// The arrival processes that come with Foretoken.
#include "workloads/requests/arrival_process.hpp"

namespace foretoken {

ArrivalVariant poisson_arrivals();
ArrivalVariant gamma_arrivals();
ArrivalVariant interval_arrivals();
ArrivalVariant profile_arrivals();
ArrivalVariant closed_loop_arrivals();
ArrivalVariant all_at_once_arrivals();
ArrivalVariant trace_arrivals();

ArrivalRegistry arrival_registry() {
  ArrivalRegistry registry("arrival process");
  registry.add("poisson", "independent requests at a mean rate", poisson_arrivals());
  registry.add("gamma", "like poisson, but burstier or steadier (burstiness)", gamma_arrivals());
  registry.add("interval", "one request every 1/rate", interval_arrivals());
  registry.add("profile", "a rate that changes from step to step", profile_arrivals());
  registry.add("closed_loop", "users who wait for each answer", closed_loop_arrivals());
  registry.add("all_at_once", "every request at time 0", all_at_once_arrivals());
  registry.add("trace", "the times of a recorded trace", trace_arrivals());
  return registry;
}

}  // namespace foretoken
