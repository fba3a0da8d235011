// Measured points of real servers under a fixed number of users: mean or median TTFT and TPOT of
// one model, engine, layout, prompt and answer length. Formats, told apart by their columns:
// AIConfigurator's tables of "silicon" runs (silicon_rows.cpp) and InferenceX's results
// (inferencex_rows.cpp). Each user sends its next request when the last one is answered.
// Tables collected from several sources hold one run more than once and rows that say too little:
// those are left out, each with its reason, and never refuse the file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/error.hpp"

namespace foretoken {

/// How one server, or one worker of a pool, is spread over GPUs.
struct MeasuredLayout {
  int tensor = 1;  // ranks that share one sequence's attention
  int pipeline = 1;
  int attention_ranks = 1;  // groups of those that share the experts; each has its own sequences
  int experts = 1;          // ranks that experts are spread over
  int workers = 1;          // of this layout

  [[nodiscard]] int gpus() const { return tensor * pipeline * attention_ranks * workers; }
};

struct ClosedLoopPoint {
  std::string id, source;               // of the row; the file it was collected from
  std::string day;                      // it was measured on: "2026-01-14"; "" = not said
  std::string engine, version;          // "vllm", "0.12.0"
  std::string model;                    // Hugging Face id
  std::string system;                   // "h100_sxm"
  std::string gemm_format, moe_format;  // "fp8_block"; "" = as published
  int prompt_tokens = 0, output_tokens = 0, users = 0;
  MeasuredLayout layout;  // of the workers that decode, where others prefill
  std::optional<MeasuredLayout> prefill;
  int requests = 0;        // that all users send together; 0 = not said
  bool is_median = false;  // of all requests' times, not their mean
  double ttft_ms = 0, tpot_ms = 0;
  SourcePosition position;
};

struct RowLeftOut {
  std::string id;
  SourcePosition position;
  std::string reason;  // "…", to follow the row's name
};

struct ClosedLoopPoints {
  std::vector<ClosedLoopPoint> points;
  std::vector<RowLeftOut> left_out;  // in the order of file names and lines
};

/// Points of all files in their order. Throws ConfigError for a file that is none, with the line
/// and column of what is wrong.
ClosedLoopPoints load_closed_loop_points(const std::vector<std::filesystem::path>& files);

}  // namespace foretoken
