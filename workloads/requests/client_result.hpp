// What load tools save of the requests that they sent: one JSON object with a list for each column,
// as `vllm bench serve --save-result --save-detailed` and `sglang.bench_serving --output-details`
// (a line of JSON a run) write it, or AIPerf's profile_export.jsonl. Such a file is a trace of
// arrivals and lengths, and the record of a served run (workloads/measurements/served_run.hpp).
// Requests that failed are counted alone. Where a client with a fixed number of users does not say
// when it sent each request, that follows from how long the ones before took; where it sent them at
// a rate, nothing tells.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace foretoken {

/// Times in seconds on the client's clock, or from the first request on.
struct SentRequest {
  int number = 0;  // in the file, from 0
  int prompt_tokens = 0, output_tokens = 0;
  double sent = 0, first_token = 0, last_token = 0;
};

struct ClientResult {
  std::vector<SentRequest> requests;  // that were answered, in the order of the file
  std::int64_t failed = 0;
  std::optional<int> users;  // who each wait for an answer before they send again
  std::string model;         // as the client was told; "" = not said
};

/// By its beginning: whether a file is such a result.
bool is_client_result(const std::filesystem::path& path);
/// Throws ConfigError for a file that is none or says too little.
ClientResult load_client_result(const std::filesystem::path& path);

}  // namespace foretoken
