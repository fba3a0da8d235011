// A request in AIPerf's profile_export.jsonl: an object a line with metadata, metrics and error.
// What a trace takes of it (traces/aiperf.cpp) and what a record of a served run does
// (client_result.hpp) is read here, once.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace foretoken {

struct AiperfRecord {
  std::int64_t sent_ns = 0;  // Unix time
  int prompt_tokens = 0, output_tokens = 0;
  std::optional<double> ttft_s;  // where answers were streamed
  std::optional<double> latency_s;
};

/// By the beginning of a file.
bool is_aiperf_record(std::string_view beginning);

/// nullopt: a request of the warm-up. Throws BadLine, and FailedRequest for one that failed or was
/// cancelled.
std::optional<AiperfRecord> read_aiperf_record(std::string_view line);

}  // namespace foretoken
