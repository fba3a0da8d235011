// The load tool's command for a scenario's traffic, and the prediction beside it. vLLM's
// and SGLang's own clients where they can make that traffic (prompts of one length, open or closed
// loop), else AIPerf with the requests themselves in a file.
#pragma once

#include <string>
#include <vector>

#include "sim/deployments/launched_server.hpp"

namespace foretoken {

struct BenchScript {
  std::string text;     // bench.sh
  std::string traffic;  // traffic.jsonl, in Mooncake's trace format; "" = the tool makes it
  std::vector<std::string> notes;
};

BenchScript bench_script(const Scenario& scenario, const LaunchedDeployment& deployment);

}  // namespace foretoken
