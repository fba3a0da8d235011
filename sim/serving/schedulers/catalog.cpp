// Every built-in scheduler: one line a variant.

#include "sim/serving/scheduler.hpp"

namespace foretoken {

Registry<SchedulerFactory>::Entry vllm_v1_scheduler();

Registry<SchedulerFactory> scheduler_catalog() {
  Registry<SchedulerFactory> catalog("scheduler");
  catalog.add(vllm_v1_scheduler());
  return catalog;
}

}  // namespace foretoken
