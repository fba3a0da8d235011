#include "workloads/lora_settings.hpp"

namespace foretoken {

const Keys<LoraSettings>& lora_keys() {
  using S = LoraSettings;
  static const Keys<S> keys = {
      {"adapters_max",
       &S::adapters_max,
       {.range = at_least(1), .unit = "adapters"},
       "Different adapters that a step may use (vLLM's max_loras). Each has a slot in GPU memory, "
       "which the KV cache loses; requests for others wait until a slot is free."},
      {"host_adapters",
       &S::host_adapters,
       {.range = at_least(0, "must be at least 1 (or 0: adapters_max)"),
        .unit = "adapters",
        .fallback = "0 (adapters_max)"},
       "Adapters that the host's memory keeps, those on the GPU among them (vLLM's "
       "max_cpu_loras). Others are read from disk when a request asks for them."},
      {"rank",
       &S::rank,
       {.range = between(1, 1024)},
       "Rank of the adapters (vLLM's max_lora_rank): slots and kernels are made for it, also where "
       "an adapter has less."},
      {"targets",
       &S::targets,
       {},
       "Which products adapters change: attention's; all, those of dense MLPs and shared experts "
       "among them; or experts, which are all and those of every routed expert, for which an "
       "adapter then has weights of its own."},
      {"disk_bandwidth",
       &S::disk_bandwidth,
       {.range = above(0), .fallback = "\"2 GB/s\""},
       "Rate at which an adapter is read that the host does not have. The step that needs it "
       "waits, and all its sequences with it."},
  };
  return keys;
}

}  // namespace foretoken
