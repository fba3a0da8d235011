// Which adapters (LoRA) an engine has in GPU memory and in the host's: those used longest ago make
// room. An adapter that a step needs and the GPU lacks is copied from the host before the step
// runs, one that the host lacks is read from disk first; all of them one after the other, as vLLM's
// worker does it (vllm/lora/worker_manager.py, LRUCacheWorkerLoRAManager).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/base/quantity.hpp"

namespace foretoken {

struct AdapterLimits {
  std::int64_t on_gpu = 0, on_host = 0;  // 0 = no adapters; the host has no fewer than the GPU
  Seconds from_host, from_disk;          // one adapter, to the GPU and to the host
};

struct AdapterTotals {
  std::int64_t steps = 0;      // with adapters
  std::int64_t uses = 0;       // adapters of these steps
  std::int64_t loads = 0;      // of these, those that the GPU had not
  std::int64_t from_disk = 0;  // of these, those that the host had not either

  AdapterTotals& operator+=(const AdapterTotals& other);
};

class AdapterCache {
 public:
  explicit AdapterCache(const AdapterLimits& limits) : limits_(limits) {}

  /// A step uses these adapters, each once, no more than there is room for on the GPU. Returns how
  /// long loading takes.
  Seconds use(std::span<const std::uint32_t> adapters);

  /// On the GPU, the one used longest ago first.
  [[nodiscard]] const std::vector<std::uint32_t>& on_gpu() const { return gpu_; }
  [[nodiscard]] const AdapterTotals& totals() const { return totals_; }

 private:
  AdapterLimits limits_;
  std::vector<std::uint32_t> gpu_, host_;  // used longest ago first
  AdapterTotals totals_;
};

}  // namespace foretoken
