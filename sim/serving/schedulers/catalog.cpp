// Every built-in scheduler: one line a variant.

#include "sim/serving/scheduler.hpp"

namespace foretoken {

Registry<SchedulerFactory>::Entry vllm_v1_scheduler();
Registry<SchedulerFactory>::Entry sarathi_scheduler();
Registry<SchedulerFactory>::Entry sglang_scheduler();
Registry<SchedulerFactory>::Entry tensorrt_llm_scheduler();
Registry<SchedulerFactory>::Entry orca_scheduler();
Registry<SchedulerFactory>::Entry static_scheduler();
Registry<SchedulerFactory>::Entry shortest_job_first_scheduler();
Registry<SchedulerFactory>::Entry priority_scheduler();
Registry<SchedulerFactory>::Entry vtc_scheduler();

Registry<SchedulerFactory> scheduler_catalog() {
  Registry<SchedulerFactory> catalog("scheduler");
  catalog.add(vllm_v1_scheduler());
  catalog.add(sarathi_scheduler());
  catalog.add(sglang_scheduler());
  catalog.add(tensorrt_llm_scheduler());
  catalog.add(orca_scheduler());
  catalog.add(static_scheduler());
  catalog.add(shortest_job_first_scheduler());
  catalog.add(priority_scheduler());
  catalog.add(vtc_scheduler());
  return catalog;
}

}  // namespace foretoken
