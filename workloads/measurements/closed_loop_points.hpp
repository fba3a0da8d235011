// Measured points of real servers under a fixed number of users: mean TTFT and TPOT of one model,
// engine, layout, prompt and answer length, as public tables of "silicon" runs have them
// (AIConfigurator's columns). Each user sends its next request when the last one is answered.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "sim/base/error.hpp"

namespace foretoken {

struct ClosedLoopPoint {
  std::string id, source;                // of the row; the file it was collected from
  std::string engine, version;           // "vllm", "0.12.0"
  std::string model;                     // Hugging Face id
  std::string system;                    // "h100_sxm"
  std::string gemm_format, moe_format;   // "fp8_block"; "" = as published
  int prompt_tokens = 0, output_tokens = 0, users = 0;
  int tensor_parallel = 1, pipeline_parallel = 1, expert_parallel = 1;
  double ttft_ms = 0, tpot_ms = 0;       // means over all requests
  SourcePosition position;
};

struct ClosedLoopPoints {
  std::vector<ClosedLoopPoint> points;
  std::int64_t without_users = 0;  // rows that do not say how many users one server had
};

/// Throws ConfigError for a file that is none, with the line and column of what is wrong.
ClosedLoopPoints load_closed_loop_points(const std::filesystem::path& csv);

}  // namespace foretoken
