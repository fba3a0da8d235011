// `--steps FILE`: every step of every stage as one JSON line, compact enough to keep and complete
// enough for a real executor to replay:
//   {"start_s":1.25,"duration_s":0.013,"replica":0,"stage":0,"prefill":[[512,512]],"decode":[[830,1]]}
// With data parallel attention a step is a line for each rank with work; "rank" is left out for 0.
// "host_s": by how much the CPU made the step longer; left out where it did not.
// prefill: [new tokens, context tokens after the step] a sequence; decode: [context, sequences].
// With speculation, decodes that verify drafts are listed apart as "verify":[[new tokens, context,
// sequences]], and the last stage's line has "draft_s", the part of its duration that the draft's
// passes take.
#pragma once

#include <cstdio>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "sim/serving/replica.hpp"

namespace foretoken {

class StepLog final : public StepObserver {
 public:
  /// Opens `path` for writing; ConfigError if that fails.
  explicit StepLog(const std::filesystem::path& path);
  ~StepLog() override;
  StepLog(const StepLog&) = delete;
  StepLog& operator=(const StepLog&) = delete;

  void on_step(ReplicaId replica, int stage, Seconds start, Seconds duration,
               const Batch& batch) override;
  /// Writes what is buffered; ConfigError if the file could not take it all.
  void close();

 private:
  void append_verified();

  std::string path_;
  std::FILE* file_;
  std::string line_;
  std::vector<std::int64_t> decode_contexts_;
  std::vector<std::pair<std::int64_t, std::int64_t>> verified_;
};

}  // namespace foretoken
