// What a server tells of itself when it starts, from its log: the flags it was given, and what it
// settled then. vLLM logs "non-default args: {…}", its version and the size of its KV cache; SGLang
// "server_args=ServerArgs(…)" and "max_total_num_tokens=…". Other lines mean nothing here. Neither
// log names the GPU.
#pragma once

#include <optional>

#include "sim/deployments/recorded_server.hpp"

namespace foretoken {

/// nullopt where the file is no such log. Throws ConfigError for a line that is cut off.
std::optional<KnownServer> read_server_log(const std::filesystem::path& path);

}  // namespace foretoken
