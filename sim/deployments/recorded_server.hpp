// A scenario from what is known of the server behind a recorded run, whoever wrote it down: a
// meta.json, a launch line, script or manifest, or the server's own log (server_log.hpp). All come
// down to the engine's flags, which mean the same as at a launch; what the engine then settled
// (KV blocks, sizes of batches and graphs) comes before its defaults. Of meta.json:
//   model           Hugging Face id, name of a built-in model, or path of a config.json
//   engine          "vllm" (the default), "sglang" or "tensorrt-llm"; engine_version
//   engine_kwargs   flags by the engine's own names
//   hardware        device_name as the driver has it, device_count: those of a node
//   kv_cache        num_gpu_blocks, block_size, gpu_memory_utilization, enable_prefix_caching
//   resolved_config vLLM's own: scheduler_config and compilation_config are looked at
// All but model and hardware may be absent, and these too where the caller names them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "sim/deployments/launched_scenario.hpp"

namespace foretoken {

struct RecordedServer {
  Value scenario;                  // [model], [cluster], [deployment] and [engine]
  std::vector<std::string> notes;  // flags that were given and change nothing here, and why
};

/// In place of what was written down; "" = as it says.
struct RecordedChoices {
  std::string model, cluster;
  std::string model_otherwise;  // as the requests' file calls it, where nothing else names one
};

/// What an engine is known to have been: its flags, and keys of [engine] that it settled itself.
struct KnownServer {
  LaunchedServer launched;
  Value settled;
  int devices = 0;  // that the driver showed to it, on one node; 0 = not said
};

/// Throws ConfigError, as all of these.
RecordedServer recorded_server(LaunchedScenario launched);
RecordedServer recorded_server(KnownServer server, const RecordedChoices& choices);
RecordedServer load_recorded_server(const std::filesystem::path& meta_json,
                                    const RecordedChoices& choices);
/// From whatever `folder` holds beside the requests: meta.json, a log, or a launch line.
RecordedServer find_recorded_server(const std::filesystem::path& folder,
                                    const RecordedChoices& choices);

}  // namespace foretoken
