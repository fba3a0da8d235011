#include "workloads/lora_settings.hpp"

namespace foretoken {

const Keys<LoraSettings>& lora_keys() {
  using S = LoraSettings;
  static const Keys<S> keys = {
      {"adapters_max",
       &S::adapters_max,
       {.range = at_least(1), .unit = "adapters"},
       "Distinct adapters that a step may use (vLLM's max_loras). Each takes a slot of GPU memory "
       "from the KV cache; requests for others wait until a slot is free."},
      {"host_adapters",
       &S::host_adapters,
       {.range = at_least(0, "must be at least 1 (or 0: adapters_max)"),
        .unit = "adapters",
        .fallback = "0 (adapters_max)"},
       "Adapters kept in host memory, including those on the GPU (vLLM's max_cpu_loras). Others "
       "are read from disk when a request asks for them."},
      {"rank",
       &S::rank,
       {.range = between(1, 1024)},
       "Rank of the adapters (vLLM's max_lora_rank): slots and kernels are sized for it, even if "
       "an adapter's is lower."},
      {"targets",
       &S::targets,
       {},
       "Linear layers that adapters change: attention's; all, also those of dense MLPs and shared "
       "experts; or experts, all plus those of every routed expert, each with its own adapter "
       "weights."},
      {"disk_bandwidth",
       &S::disk_bandwidth,
       {.range = above(0), .fallback = "\"2 GB/s\""},
       "Rate at which adapters that are not in host memory are read. The step that needs one "
       "waits, with all its sequences."},
  };
  return keys;
}

}  // namespace foretoken
