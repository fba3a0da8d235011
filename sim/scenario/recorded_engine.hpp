// A scenario from what was written down about a served run: meta.json beside its requests names
// model, engine, flags and hardware. The engine's preset fills in what it does not say.
//   model           Hugging Face id, name of a built-in model, or path of a config.json
//   engine          "vllm" (the default), "sglang" or "tensorrt-llm"
//   engine_kwargs   flags by the engine's own names
//   hardware        device_name as the driver has it, device_count
//   kv_cache        num_gpu_blocks, block_size, gpu_memory_utilization, enable_prefix_caching
//   resolved_config vLLM's own: scheduler_config and compilation_config are looked at
// All but model and hardware may be absent, and these too where the caller names them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "sim/base/value.hpp"

namespace foretoken {

struct RecordedEngine {
  Value scenario;                  // [model], [cluster], [deployment] and [engine]
  std::vector<std::string> notes;  // flags that were given and have no meaning here
};

/// `model` and `cluster` come before what the file says; "" = as it says. Throws ConfigError.
RecordedEngine load_recorded_engine(const std::filesystem::path& meta_json,
                                    const std::string& model, const std::string& cluster);

}  // namespace foretoken
